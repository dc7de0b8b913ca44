#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that tests/bench/generate.cpp writes the same files as stock DeepSpeed.

    tests/interop/check_generated.py GENERATOR [WORK_FOLDER]

For ZeRO-1, 2 and 3, small checkpoints are generated. Unmodified DeepSpeed loads each at its world size and every value is
compared, bit for bit, with the generator's formula. Then stock saves what it loaded, and its files are compared with the
generated ones: names, records and their sizes, and the bytes of the pickles. Prints `N passed, N failed`.
"""

import argparse
import io
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import environment
from runs import ranks

# stage, world, further options
CASES = [
    (1, 2, []),
    (1, 3, ["--bytes", "300K", "--params", "37"]),
    (2, 2, []),
    (2, 4, ["--seed", "5", "--params", "5"]),
    (3, 2, []),
    (3, 4, ["--sub-group-size", "2000", "--params", "37"]),
    (3, 3, ["--seed", "9", "--params", "23"]),
]
STATES = ("fp32", "exp_avg", "exp_avg_sq")


def formula(seed, parameter, state, elements):
    """The generator's value of every element of one state, as documented in generate_values.h."""
    import numpy
    with numpy.errstate(over="ignore"):
        mixed = (numpy.arange(elements, dtype=numpy.uint32) * numpy.uint32(0xC2B2AE3D)
                 + numpy.uint32((seed + 0x9E3779B1 * (parameter + 1) + 0x85EBCA77 * (state + 1)) % 2**32))
    mixed ^= mixed >> numpy.uint32(15)
    return ((mixed >> numpy.uint32(9)) | numpy.uint32(0x3D000000)).view(numpy.float32)


def build_model(shapes):
    """Nested modules that hold parameters of these names, in this order."""
    import torch
    root = torch.nn.Module()
    for name, shape in shapes:
        *path, leaf = name.split(".")
        module = root
        for part in path:
            if not hasattr(module, part):
                module.add_module(part, torch.nn.Module())
            module = getattr(module, part)
        module.register_parameter(leaf, torch.nn.Parameter(torch.zeros(shape)))
    return root


def build_engine(shapes, config):
    import deepspeed
    import torch
    model = build_model(shapes)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}] if matrices else []
    groups += [{"params": vectors, "weight_decay": 0.0}] if vectors else []
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95))
    # A copy: DeepSpeed keeps and saves the dictionary that it is given.
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=json.loads(json.dumps(config)))
    return engine


def load_and_save(rank, world, folder, saved, shapes, config):
    from compare import live_state
    engine = build_engine(shapes, config)
    path, _ = engine.load_checkpoint(str(folder))
    if path is None:
        raise RuntimeError("stock DeepSpeed loads nothing")
    state = live_state.local_state(engine, rank)
    engine.save_checkpoint(str(saved))
    return state


class Plain(pickle.Unpickler):
    """What a pickle says as nested tuples; classes stay names, storages their class, key and size."""

    def find_class(self, module, name):
        def make(_, *arguments):
            return Call(f"{module}.{name}", arguments)
        return type(name, (), {"__new__": make, "called": f"{module}.{name}"})

    def persistent_load(self, pid):
        return tuple(getattr(part, "called", part) for part in pid)


class Call(dict):
    def __new__(cls, *_):
        return super().__new__(cls)

    def __init__(self, name, arguments):
        super().__init__()
        self.name, self.arguments, self.state = name, arguments, None

    def __setstate__(self, state):
        self.state = state


def said(value):
    if isinstance(value, type):
        return value.called
    if isinstance(value, Call):
        return (value.name, said(value.arguments), said(list(value.items())), said(value.state))
    if isinstance(value, dict):
        return ("dict", said(list(value.items())))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(said(part) for part in value))
    return (type(value).__name__, value)


def describe(path):
    """Records with sizes in order, and the pickle's content."""
    with zipfile.ZipFile(path) as archive:
        records = [(entry.filename, entry.file_size) for entry in archive.infolist()
                   if not entry.filename.endswith("data.pkl")]
        name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        stream = archive.read(name)
        return records, repr(said(Plain(io.BytesIO(stream)).load())), stream


def shapes_of(folder, tag):
    """Names and shapes in the order of the module, from the first model file."""
    import torch
    path = sorted((folder / tag).glob("*model_states.pt"))[0]
    state = torch.load(path, weights_only=False, map_location="cpu")
    known = {name: tuple(shape) for group in state["param_shapes"] for name, shape in group.items()}
    return [(name, known[name]) for name in state["module"]], state["ds_config"]


def check_values(shapes, seed, whole):
    import numpy
    import torch
    for number, (name, shape) in enumerate(shapes):
        elements = int(numpy.prod(shape))
        for state, label in enumerate(STATES):
            if whole[f"{name}#{label}"] != formula(seed, number, state, elements).tobytes():
                return f"{name}#{label} is not what the formula says"
        master = torch.from_numpy(formula(seed, number, 0, elements))
        weight = master.to(torch.bfloat16).view(torch.uint8).numpy().tobytes()
        if whole[f"weight {name}"] != ("torch.bfloat16", tuple(shape), weight):
            return f"the 16-bit copy of {name} is not its rounded master"
    return None


def check_files(generated, saved, tag):
    ours, stock = (sorted(path.name for path in (folder / tag).iterdir()) for folder in (generated, saved))
    if ours != stock:
        return f"file names differ: {sorted(set(ours) ^ set(stock))}"
    for name in ours:
        records, text, stream = describe(generated / tag / name)
        stock_records, stock_text, stock_stream = describe(saved / tag / name)
        if records != stock_records:
            return f"{name}: records differ: {set(records) ^ set(stock_records)}"
        if text != stock_text:
            at = next((i for i, (a, b) in enumerate(zip(text, stock_text)) if a != b), min(len(text), len(stock_text)))
            return (f"{name}: pickles differ:\n    generated …{text[max(0, at - 120):at + 80]}"
                    f"\n    stock     …{stock_text[max(0, at - 120):at + 80]}")
        if stream != stock_stream:
            return f"{name}: pickles say the same in other bytes ({len(stream)}, stock {len(stock_stream)})"
    return None


def check(generator, work, stage, world, options):
    from compare import live_state
    folder, saved = work / "generated", work / "saved"
    for old in (folder, saved):
        shutil.rmtree(old, ignore_errors=True)
    if "--bytes" not in options:
        options = ["--bytes", "400K", *options]
    subprocess.run([generator, "--stage", str(stage), "--world", str(world), *options, str(folder)], check=True,
                   stdout=subprocess.DEVNULL)
    tag = (folder / "latest").read_text()
    shapes, config = shapes_of(folder, tag)
    parts = ranks.run_ranks(world, load_and_save, folder, saved, shapes, config)
    seed = int(options[options.index("--seed") + 1]) if "--seed" in options else 1
    return check_values(shapes, seed, live_state.merge(parts)) or check_files(folder, saved, tag)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generator", help="the built shardscope_generate")
    parser.add_argument("work", nargs="?", help="an existing folder for a few megabytes; default: a temporary one")
    arguments = parser.parse_args()
    generator = str(Path(arguments.generator).resolve())
    failed = 0
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        for stage, world, options in CASES:
            label = f"ZeRO-{stage}, {world} ranks{''.join(' ' + option for option in options)}"
            try:
                problem = check(generator, Path(work), stage, world, options)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            failed += problem is not None
            print(f"{'FAIL' if problem else 'ok'}  {label}{': ' + problem if problem else ''}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    environment.enter()
    environment.import_judges()
    sys.exit(main())
