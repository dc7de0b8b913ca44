#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `shardscope convert --to universal` against DeepSpeed's converter and against a plain copy, in one run.

    tests/interop/bench_convert.py BUILD_FOLDER WORK_FOLDER [--bytes 2G] [--worlds 4,32] [--stages 2,3] [--rounds 1]

Every command is a process of its own. Measured are wall and processor time, the peak resident size of its largest
process, and the size of its temporary files. The source is dropped from the page cache before each command if that is
permitted. At the end every tensor of both folders is compared. Prints one line per command and `tensors equal: N`.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import environment
from bench_commands import drop_caches, measure, size_of


def compare(ours, stock):
    import torch
    equal = 0
    for path in sorted((stock / "zero").glob("*/*.pt")):
        mine = ours / path.relative_to(stock)
        if not mine.exists():
            if path.name == "fp32.pt" and not (path.parent / "exp_avg.pt").exists():
                continue  # a buffer or frozen parameter, which is in the module
            raise SystemExit(f"{mine} is missing")
        left, right = (torch.load(one, weights_only=False, map_location="cpu") for one in (mine, path))
        left, right = (one["param"] if isinstance(one, dict) else one for one in (left, right))
        same = torch.equal(left.flatten(), right.flatten()) if isinstance(left, torch.Tensor) else left == right
        if not same:
            raise SystemExit(f"{mine} differs from {path}")
        equal += 1
    return equal


def compare_apart(ours, stock):
    """In a separate process: the memory of this one would count in the peak of every program that it starts."""
    command = [sys.executable, __file__, "--compare", ours, stock]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    if sys.argv[1:2] == ["--compare"]:
        print(compare(Path(sys.argv[2]), Path(sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="a build folder configured with -DSHARDSCOPE_BUILD_BENCHMARKS=ON")
    parser.add_argument("work", type=Path)
    parser.add_argument("--bytes", default="2G")
    parser.add_argument("--worlds", default="4,32")
    parser.add_argument("--stages", default="2,3")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    program = options.build / "app/cli/shardscope"
    for stage in options.stages.split(","):
        for world in options.worlds.split(","):
            folder = options.work / f"zero{stage}-w{world}"
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([options.build / "tests/bench/shardscope_generate", folder / "source", "--stage", stage, "--world",
                            world, "--bytes", options.bytes], check=True, stdout=subprocess.DEVNULL)
            tag = (folder / "source/latest").read_text()
            for _ in range(options.rounds):
                one_round(program, folder, tag, f"ZeRO-{stage} W={world}")
            print(f"tensors equal: {compare_apart(folder / 'ours' / f'{tag}_universal', folder / 'stock' / f'{tag}_universal')}",
                  flush=True)
            shutil.rmtree(folder)


def one_round(program, folder, tag, title):
    source, ours, stock, copied = (folder / name for name in ("source", "ours", "stock", "copied"))
    for made in (ours, stock, copied):
        shutil.rmtree(made, ignore_errors=True)
    drop_caches(source)
    first = measure([program, "convert", source, ours, "--to", "universal", "--no-verify"])
    written = size_of(ours)
    shutil.rmtree(ours)
    drop_caches(source)
    verified = measure([program, "convert", source, ours, "--to", "universal"])
    drop_caches(ours)
    copy = measure(["sh", "-c", f"cp -r '{ours}' '{copied}' && sync"])
    shutil.rmtree(copied)
    drop_caches(source)
    stock.mkdir()
    theirs = measure([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--input_folder", source / tag,
                      "--output_folder", stock / f"{tag}_universal", "--inject_missing_state", "--keep_temp_folder"])
    temporary = size_of(stock / f"{tag}_universal/tmp")
    for name, (wall, cpu, peak) in (("convert", first), ("convert, verified", verified), ("cp -r + sync", copy),
                                    ("ds_to_universal", theirs)):
        print(f"{title}  {name:18} {wall:7.2f} s wall  {cpu:7.2f} s cpu  {peak:7.0f} MiB peak"
              f"  wall ratio to convert {wall / first[0]:.2f}", flush=True)
    print(f"{title}  written {written} bytes; temporary bytes: convert 0, ds_to_universal {temporary}", flush=True)


if __name__ == "__main__":
    environment.enter()
    main()
