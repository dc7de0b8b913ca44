# SPDX-License-Identifier: Apache-2.0
"""Compares two checkpoints of one world size in everything except the values of their tensors."""

import torch

# The configuration of the run that saved is copied unchanged.
CARRIED = ("ds_config",)

# ZeRO-3 saves neither, and DeepSpeed does not need them: the engine's own clipping counts, and unaligned is the
# default.
UNKNOWN_TO_ZERO3 = ("clip_grad", "param_alignment_paddings")


class StructureDiffers(RuntimeError):
    """A checkpoint does not look like one that stock DeepSpeed saves."""


def _walk(value, where, found, ignored):
    if torch.is_tensor(value):
        # Not its attribute ds_id: only an engine that swaps to NVMe asks for it, and such an engine reads no such file.
        found[where] = f"{value.dtype} {tuple(value.shape)} {value.stride()} grad={value.requires_grad}"
    elif isinstance(value, dict):
        found[where] = f"{type(value).__name__} of {sorted((str(key) for key in value if key not in ignored))}"
        for key, item in value.items():
            if key not in ignored:
                _walk(item, f"{where}/{key}", found, ignored)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        found[where] = f"{type(value).__name__} of {len(value)}"
        for index, item in enumerate(value):
            _walk(item, f"{where}[{index}]", found, ignored)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        found[where] = type(value).__name__
        _walk(vars(value), f"{where}.__dict__", found, ignored)
    else:
        found[where] = f"{type(value).__name__} {value!r}"


def describe(folder, ignored=()):
    """File and position in it -> kind, and the value if it is not a tensor; of the tag that `latest` names."""
    found = {}
    for path in sorted((folder / (folder / "latest").read_text()).rglob("*.pt")):
        _walk(torch.load(path, weights_only=False, map_location="cpu"), path.name, found, (*CARRIED, *ignored))
    return found


def compare(stock, ours, ignored=()):
    expected, found = describe(stock, ignored), describe(ours, ignored)
    wrong = [f"{where}: {expected.get(where, 'absent')} of stock is {found.get(where, 'absent')}"
             for where in sorted(expected.keys() | found.keys()) if expected.get(where) != found.get(where)]
    if wrong:
        raise StructureDiffers(f"{len(wrong)} differences:\n  " + "\n  ".join(wrong[:12]))
    return len(expected)
