#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times resuming at another number of ranks: from the start of the load to the end of the first step, in one run.

    tests/interop/bench_live.py PROGRAM WORK_FOLDER [--bytes 4G] [--stages 2] [--ranks 2,3] [--rounds 1]

`--bytes` is the size of the optimizer's states, of all ranks together. Compared are stock DeepSpeed with a checkpoint of
this number of ranks, `shardscope.deepspeed.load_checkpoint`, and `shardscope reshard` followed by stock. Each rank is a
process of its own. The checkpoint is dropped from the page cache before each if that is permitted.

Memory is counted from the start of the load: the sum over ranks and readers of what each had at most, with its files in
memory; the largest of them; and the highest sum of all at one moment, sampled.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import environment
from bench_commands import drop_caches

WIDTH = 2048
BATCH = 12  # divides by the usual numbers of ranks
BYTES_PER_PARAMETER = 12  # master and two moments, in fp32
SAMPLE_SECONDS = 0.02
MIB = 1 << 20
UNITS = {"M": 1 << 20, "G": 1 << 30}
MODES = ("stock", "load_checkpoint", "reshard + stock")


# What a rank does.

def _engine(stage, layers, world):
    import deepspeed
    import torch

    class Layer(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(WIDTH, WIDTH, dtype=torch.bfloat16)

        def forward(self, x):
            return x + torch.tanh(self.linear(x))

    class Model(torch.nn.Module):

        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*(Layer() for _ in range(layers)))

        def forward(self, x):
            return self.layers(x).float().square().mean()

    torch.manual_seed(17)
    torch.set_num_threads(1)
    zero = {"stage": stage, **({"sub_group_size": 10**8} if stage == 3 else {})}
    config = {"train_micro_batch_size_per_gpu": BATCH // world, "gradient_accumulation_steps": 1,
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False, "steps_per_print": 10**9,
              "bf16": {"enabled": True}, "zero_optimization": zero}
    model = Model()
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-4), config=config)
    return engine


def _step(engine, number, rank, world):
    import torch
    batch = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(number)).bfloat16()
    loss = engine(batch.chunk(world)[rank])
    engine.backward(loss)
    engine.step()
    return loss.item()


def _from_status(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise SystemExit(f"no {name}")


def _rank(words):
    began, mode, stage, layers, folder = float(words[0]), words[1], int(words[2]), int(words[3]), words[4]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    import deepspeed
    import torch
    deepspeed.init_distributed(dist_backend="gloo")
    engine = _engine(stage, layers, world)
    if mode == "save":
        _step(engine, 0, rank, world)
        engine.save_checkpoint(folder)
        os._exit(0)
    spent = {"torch.load": 0.0}
    stock_load, torch_load = engine.load_checkpoint, torch.load

    def timed_torch_load(*arguments, **options):
        begin = time.monotonic()
        out = torch_load(*arguments, **options)
        spent["torch.load"] += time.monotonic() - begin
        return out

    def timed_stock_load(*arguments, **options):
        spent["entered"] = time.monotonic()
        out = stock_load(*arguments, **options)
        spent["left"] = time.monotonic()
        return out

    torch.load, engine.load_checkpoint = timed_torch_load, timed_stock_load
    torch.distributed.barrier()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    base = _from_status("VmRSS")
    begin = time.monotonic()
    print(json.dumps({"load": True}), flush=True)
    if mode == "load_checkpoint":
        from shardscope.deepspeed import load_checkpoint
        load_checkpoint(engine, folder)
    else:
        engine.load_checkpoint(folder)
    loaded = time.monotonic()
    loss = _step(engine, 1, rank, world)
    end = time.monotonic()
    print(json.dumps({"whole": end - began, "to_step": end - begin, "load": loaded - begin, "step": end - loaded,
                      "before": spent["entered"] - begin, "torch_load": spent["torch.load"],
                      "deepspeed": spent["left"] - spent["entered"] - spent["torch.load"], "after": loaded - spent["left"],
                      "loss": loss, "base": base, "peak": _from_status("VmHWM")}), flush=True)
    torch.distributed.barrier()
    os._exit(0)


# What the caller does.

class _Memory:
    """What processes and their descendants have, sampled."""

    def __init__(self):
        self.highest, self.of_each = 0, {}

    def sample(self, pids):
        total = 0
        for owner in pids:
            for pid in self._tree(owner):
                if pid != owner and self._program(pid) == self._program(owner):
                    continue  # has not begun yet, and still shares all of its parent's memory
                bytes_ = self._resident(pid) + (self._memory_files(owner) if pid == owner else 0)
                self.of_each[pid] = max(self.of_each.get(pid, 0), bytes_)
                total += bytes_
        self.highest = max(self.highest, total)

    def _tree(self, pid):
        out = [pid]
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                for child in path.read_text().split():
                    out += self._tree(int(child))
            except OSError:
                continue
        return out

    @staticmethod
    def _program(pid):
        try:
            return os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return None

    @staticmethod
    def _resident(pid):
        try:
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    @staticmethod
    def _memory_files(pid):
        out = 0
        for path in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if "memfd:shardscope" in os.readlink(path):
                    out += os.stat(path).st_blocks * 512
            except OSError:
                continue
        return out


def _start(world, words, package, program):
    from runs.ranks import free_port
    settings = {**os.environ, "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
                "PYTHONPATH": str(package), "SHARDSCOPE_PROGRAM": str(program)}
    words = [sys.executable, __file__, "--rank", str(time.monotonic()), *map(str, words)]
    return [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if rank else None, text=True,
                             env={**settings, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(world)]


def _wait(processes, memory):
    """The answers of all ranks."""
    lines, begun = [[] for _ in processes], False
    for process in processes:
        os.set_blocking(process.stdout.fileno(), False)
    while any(process.poll() is None for process in processes):
        for got, process in zip(lines, processes):
            got += [line for line in process.stdout if line.startswith("{")]
        begun = begun or any(lines)
        if begun and memory is not None:
            memory.sample([process.pid for process in processes if process.poll() is None])
        time.sleep(SAMPLE_SECONDS)
    for got, process in zip(lines, processes):
        got += [line for line in process.stdout if line.startswith("{")]
        if process.returncode != 0:
            raise SystemExit(f"a rank ended with {process.returncode}")
    return [json.loads(got[-1]) if got else {} for got in lines]


def _resume(mode, folders, stage, layers, world, package, program):
    """Seconds and bytes of one way to resume, and the loss of its first step."""
    source, fitting, copy = folders
    shutil.rmtree(copy, ignore_errors=True)
    for folder in (source, fitting):
        drop_caches(folder)
    memory, before = _Memory(), 0.0
    if mode == "reshard + stock":
        begin = time.monotonic()
        process = subprocess.Popen([program, "reshard", source, copy, "-w", str(world)], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            memory.sample([process.pid])
            time.sleep(SAMPLE_SECONDS)
        if process.returncode != 0:
            raise SystemExit(f"reshard ended with {process.returncode}")
        before = time.monotonic() - begin
    folder = {"stock": fitting, "load_checkpoint": source, "reshard + stock": copy}[mode]
    started = _start(world, ["load_checkpoint" if mode == "load_checkpoint" else "stock", stage, layers, folder], package,
                     program)
    answers = _wait(started, memory)
    for process, answer in zip(started, answers):
        memory.of_each[process.pid] = max(memory.of_each.get(process.pid, 0), answer["peak"])
    out = {name: max(answer[name] for answer in answers) for name in answers[0] if name != "loss"}
    out.update(load=out["load"] + before, to_step=out["to_step"] + before, whole=out["whole"] + before, reshard=before,
               sum_of_peaks=sum(memory.of_each.values()), largest=max(memory.of_each.values()), highest=memory.highest,
               loss=sum(answer["loss"] for answer in answers) / world)
    return out


def _print(title, mode, one, stock):
    def seconds(name):
        return f"{one[name]:.2f} s ({one[name] / stock[name]:.2f} of stock)"

    def size(name):
        return f"{one[name] / MIB:.0f} MiB"

    print(f"{title}  {mode:16} to the first step {seconds('to_step')}, of that the load {seconds('load')}; from process start"
          f" {seconds('whole')}; memory: sum of peaks {size('sum_of_peaks')}, largest {size('largest')}, at one moment"
          f" {size('highest')}; loss {one['loss']:.9f}", flush=True)
    print(f"{title}  {'':16} slowest rank: reshard {one['reshard']:.2f} s, before DeepSpeed {one['before']:.2f} s, torch.load"
          f" {one['torch_load']:.2f} s, DeepSpeed's load {one['deepspeed']:.2f} s, after {one['after']:.2f} s, step"
          f" {one['step']:.2f} s", flush=True)


def main():
    if sys.argv[1:2] == ["--rank"]:
        _rank(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="the built command-line program")
    parser.add_argument("work", type=Path)
    parser.add_argument("--bytes", default="4G")
    parser.add_argument("--stages", default="2")
    parser.add_argument("--ranks", default="2,3", help="those that save, and those that resume")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    program, work = options.program.resolve(), options.work.resolve()
    saved_by, world = map(int, options.ranks.split(","))
    layers = max(1, int(options.bytes[:-1]) * UNITS[options.bytes[-1]] // (BYTES_PER_PARAMETER * WIDTH * (WIDTH + 1)))
    from cases.examples import python_package
    package = python_package(SimpleNamespace(target=lambda name: work / name.replace(" ", "_"),
                                             tool=SimpleNamespace(program=program)))
    for stage in map(int, options.stages.split(",")):
        folders = source, fitting, copy = [work / f"zero{stage}-{name}" for name in ("source", "fitting", "copy")]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        _wait(_start(saved_by, ["save", stage, layers, source], package, program), None)
        subprocess.run([program, "reshard", source, fitting, "-w", str(world)], check=True, stdout=subprocess.DEVNULL)
        try:
            for _ in range(options.rounds):
                results = {mode: _resume(mode, folders, stage, layers, world, package, program) for mode in MODES}
                for mode, one in results.items():
                    _print(f"ZeRO-{stage} {saved_by}->{world}", mode, one, results["stock"])
                if len({one["loss"] for one in results.values()}) != 1:
                    raise SystemExit("the losses differ")
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    environment.enter()
    main()
