#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the backends with numpy and torch, on one thread and with the same sizes, in one run.

    python3 tests/interop/bench_compute.py BENCH_COMPUTE [--elements N]

BENCH_COMPUTE is the program of that name below tests/bench of a build folder. Operations that numpy or
torch lack (digests, statistics in one pass) are composed of their calls. Figures are GB/s of input.
"""

import argparse
import json
import subprocess
import sys
import time

import environment


def rate(work, item_bytes, elements, rounds):
    figures = []
    for turn in range(rounds + 1):
        begin = time.perf_counter()
        work()
        took = time.perf_counter() - begin
        if turn > 0:
            figures.append(item_bytes * elements / took / 1e9)
    return sorted(figures)[len(figures) // 2]


def numpy_work(elements):
    import numpy as np

    wide = np.random.default_rng(1).normal(0, 0.1, elements).astype(np.float32)
    half = wide.astype(np.float16)
    mask = np.uint64(0xFFFFFFFFFFFFFFFF)
    golden = np.uint64(0x9E3779B97F4A7C15)

    def mix(z):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def digest():
        walk = np.arange(elements, dtype=np.uint64) * golden
        bits = wide.view(np.uint32).astype(np.uint64)
        return int(mix((walk + np.uint64(1)) ^ bits).sum() & mask), int(mix((walk + np.uint64(2)) ^ bits).sum() & mask)

    def statistics():
        values = wide.astype(np.float64)
        finite = np.isfinite(values)
        return (values.min(), values.max(), values.mean(), values.std(), np.abs(values).sum(), np.square(values).sum(),
                (values == 0).sum(), finite.sum(), np.isnan(values).sum())

    def comparison():
        left, right = wide.astype(np.float64), wide.astype(np.float64)
        apart = left - right
        return ((wide.view(np.uint32) != wide.view(np.uint32)).sum(), np.abs(apart).max(), np.square(apart).sum(),
                np.square(left).sum(), np.square(right).sum(), (left * right).sum())

    return {
        "cast float32 to float16": (4, lambda: wide.astype(np.float16)),
        "cast float16 to float32": (2, lambda: half.astype(np.float32)),
        "digest float32": (4, digest),
        "statistics float32": (4, statistics),
        "statistics and histogram float32": (
            4, lambda: (statistics(), np.bincount(wide.view(np.uint32) >> 16, minlength=65536))),
        "comparison float32": (8, comparison),
    }


def torch_work(elements):
    import torch

    torch.set_num_threads(1)
    wide = torch.randn(elements) * 0.1
    brain = wide.to(torch.bfloat16)

    def statistics(source):
        values = source.double()
        return (values.aminmax(), values.mean(), values.std(unbiased=False), values.abs().sum(), values.square().sum(),
                (values == 0).sum(), values.isfinite().sum(), values.isnan().sum())

    def comparison():
        left, right = wide.double(), wide.double()
        apart = left - right
        return ((wide.view(torch.int32) != wide.view(torch.int32)).sum(), apart.abs().max(), apart.square().sum(),
                left.square().sum(), right.square().sum(), (left * right).sum())

    return {
        "cast float32 to bfloat16": (4, lambda: wide.to(torch.bfloat16)),
        "cast float32 to float16": (4, lambda: wide.to(torch.float16)),
        "cast float32 to float8_e4m3fn": (4, lambda: wide.to(torch.float8_e4m3fn)),
        "cast bfloat16 to float32": (2, lambda: brain.to(torch.float32)),
        "statistics float32": (4, lambda: statistics(wide)),
        "statistics bfloat16": (2, lambda: statistics(brain)),
        "comparison float32": (8, comparison),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--elements", type=int, default=8 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment.enter()

    command = [options.program, "--json", "--elements", str(options.elements), "--rounds", str(options.rounds)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    figures = {}
    for line in map(json.loads, lines):
        figures.setdefault(line["operation"], {})[line["backend"]] = line["gb_per_second"]
    for name, make in (("numpy", numpy_work), ("torch", torch_work)):
        for operation, (item_bytes, work) in make(options.elements).items():
            figures.setdefault(operation, {})[name] = rate(work, item_bytes, options.elements, options.rounds)
    columns = sorted({name for row in figures.values() for name in row}, key=lambda name: (name != "plain code", name))
    print(f"{options.elements} elements, one thread, median of {options.rounds}, GB/s of what goes in")
    print(f"{'':38}" + "".join(f"{name:>18}" for name in columns))
    for operation, row in figures.items():
        print(f"{operation:38}" + "".join(f"{row[name]:18.2f}" if name in row else f"{'':18}" for name in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
