#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times `shardscope export` against DeepSpeed's own scripts and against a plain copy of what it writes, in one run.

    tests/interop/bench_export.py BUILD_FOLDER WORK_FOLDER [--bytes 2G] [--worlds 4] [--stages 2,3]

fp32 against zero_to_fp32, bf16 against zero_to_torch: wall and processor time and peak resident size of each. The
source is dropped from the page cache before each command if that is permitted. At the end every tensor is compared.
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
    from safetensors.torch import load_file
    mine = {}
    for path in ours.glob("*.safetensors"):
        mine.update(load_file(path))
    theirs = {}
    for path in stock.glob("*.bin"):
        theirs.update(torch.load(path, map_location="cpu", weights_only=True))
    for name, tensor in theirs.items():
        if name in mine and not torch.equal(mine[name], tensor):
            raise SystemExit(f"{name} differs")
    missing = theirs.keys() - mine.keys()
    if missing or not theirs:
        raise SystemExit(f"not exported: {sorted(missing)[:5]}")
    return len(theirs)


def compare_apart(ours, stock):
    command = [sys.executable, __file__, "--compare", ours, stock]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def one_round(program, folder, title, dtype, script):
    source, ours, stock, copied = (folder / name for name in ("source", "ours", "stock", "copied"))
    for made in (ours, stock, copied):
        shutil.rmtree(made, ignore_errors=True)
    export = [program, "export", source, ours, "--format", "safetensors", "--dtype", dtype]
    drop_caches(source)
    first = measure([*export, "--no-verify"])
    written = size_of(ours)
    shutil.rmtree(ours)
    drop_caches(source)
    verified = measure(export)
    drop_caches(ours)
    copy = measure(["sh", "-c", f"cp -r '{ours}' '{copied}' && sync"])
    shutil.rmtree(copied)
    drop_caches(source)
    theirs = measure([sys.executable, "-m", *script, source, stock])
    for name, (wall, cpu, peak) in (("export", first), ("export, verified", verified), ("cp -r + sync", copy),
                                    (script[0].split(".")[-1], theirs)):
        print(f"{title} {dtype}  {name:18} {wall:7.2f} s wall  {cpu:7.2f} s cpu  {peak:7.0f} MiB peak"
              f"  wall ratio to export {wall / first[0]:.2f}", flush=True)
    print(f"{title} {dtype}  written {written} bytes; tensors equal: {compare_apart(ours, stock)}", flush=True)


def main():
    if sys.argv[1:2] == ["--compare"]:
        print(compare(Path(sys.argv[2]), Path(sys.argv[3])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="a build folder configured with -DSHARDSCOPE_BUILD_BENCHMARKS=ON")
    parser.add_argument("work", type=Path)
    parser.add_argument("--bytes", default="2G")
    parser.add_argument("--worlds", default="4")
    parser.add_argument("--stages", default="2,3")
    options = parser.parse_args()
    for stage in options.stages.split(","):
        for world in options.worlds.split(","):
            folder = options.work / f"zero{stage}-w{world}"
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([options.build / "tests/bench/shardscope_generate", folder / "source", "--stage", stage, "--world",
                            world, "--bytes", options.bytes], check=True, stdout=subprocess.DEVNULL)
            title = f"ZeRO-{stage} W={world}"
            program = options.build / "app/cli/shardscope"
            one_round(program, folder, title, "fp32", ["deepspeed.utils.zero_to_fp32"])
            one_round(program, folder, title, "bf16", ["deepspeed.utils.zero_to_torch", "--dtype", "bf16"])
            shutil.rmtree(folder)


if __name__ == "__main__":
    environment.enter()
    main()
