# SPDX-License-Identifier: Apache-2.0
"""Writes the files of this folder with the installed torch and DeepSpeed's classes: `python make.py`.

They were made with torch 2.15.0. `zero1-w2` is the sample of that name, each file loaded and saved again by torch in
the form that torch had before 1.6, as DeepSpeed does with `"checkpoint_serialization": false`.
`views.pt` and `dtypes.pt` are those of `../torch` in that form. Keys of storages are addresses, so every run gives
other bytes.
"""
import pathlib
import shutil

import torch

HERE = pathlib.Path(__file__).resolve().parent


def save_again(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    torch.save(torch.load(source, weights_only=False), target, _use_new_zipfile_serialization=False)


def main():
    sample = HERE.parent / "samples/zero1-w2"
    for path in sorted(sample.rglob("*.pt")):
        save_again(path, HERE / "zero1-w2" / path.relative_to(sample))
    shutil.copyfile(sample / "latest", HERE / "zero1-w2/latest")
    for name in ("views.pt", "dtypes.pt"):
        save_again(HERE.parent / "torch" / name, HERE / name)


if __name__ == "__main__":
    main()
