# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that FSDP2 of stock torch loads from where they are (shardscope.dcp), and continues with."""

import importlib.util
import math
import shutil
import struct
import sys
from dataclasses import dataclass

from cases.examples import GENERATOR, SOURCE, python_package
from cases.live import content
from compare import checks
from compare.live_state import plain
from runs import fsdp, live, ranks
from runs.setups import Setup
from runs.sources import STEPS_BEFORE, load_and_train, mean_losses

STEPS = 20


def _reference(context, setup, world, folder):
    """The losses of stock DeepSpeed, which continues from its own checkpoint."""
    known = context.__dict__.setdefault("losses_of_stock", {})
    if folder not in known:
        parts = ranks.run_ranks(world, load_and_train, setup, str(folder), 1, STEPS_BEFORE, STEPS, log_path=context.sources.log)
        known[folder] = mean_losses([losses for _, losses, _ in parts])
    return known[folder]


@dataclass(frozen=True)
class Fsdp:
    """Every tensor is bit-equal to what the engine held when it saved; so are options; 20 losses continue; all ranks
    together read each element once."""
    setup: Setup
    before: int
    after: int
    by_address: bool = False
    universal: bool = False
    dialect: str = None

    @property
    def name(self):
        way = "by address" if self.by_address else "by reader"
        words = [f"fsdp2 {self.setup.name} {self.before}->{self.after} {way}"]
        return " ".join(words + ["through universal"] * self.universal + [self.dialect] * bool(self.dialect))

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        package = python_package(context)
        live.prepare(package, context.tool.program)
        _write_entry_points(package)
        folder = source.folder
        if self.universal:
            folder = context.target(f"universal of {self.setup.name} {self.before}")
            if not folder.exists():
                context.tool.call("convert", source.folder, folder, "--to", "universal")
        before = content(folder)
        parts = ranks.run_ranks(self.after, fsdp.resume, self.setup, str(folder), str(package), self.by_address,
                                self.dialect, STEPS_BEFORE, STEPS, log_path=context.sources.log)
        if content(folder) != before:
            raise checks.Failure("the source was changed")
        count = _check_tensors(source.state, parts[0]["tensors"])
        _check_groups(source.state, parts[0]["groups"])
        if any(plain(part["steps"]) != source.state["scalar global_steps"] for part in parts):
            raise checks.Failure("global_steps is not what the engine held")
        _check_read(parts)
        losses = mean_losses([part["losses"] for part in parts])
        deviation = checks.losses_track(_reference(context, self.setup, self.before, source.folder), losses,
                                        checks.TOLERANCE["fp32"])
        return f"{count} tensors bit-equal, {STEPS} losses, deviation {deviation:.1e}"


def _check_tensors(live_state, found):
    count = 0
    for label, value in live_state.items():
        name, _, kind = label.rpartition("#")
        if not name or not isinstance(value, bytes):
            continue
        key = f"weight {name}" if kind == "fp32" else label
        if key not in found or found[key][2] != value:
            raise checks.Failure(f"{label} is not what the engine held")
        count += 1
    for label, value in live_state.items():
        if label.startswith("weight "):
            if found[label] != value:
                raise checks.Failure(f"{label} is not what the engine held")
            count += 1
        if label.startswith("scalar ") and label.endswith(" step"):
            name = label.removeprefix("scalar ").removesuffix(" step")
            expected = value[3] if value[0] == "tensor" else struct.pack("<f", float(value[1]))
            if found[f"{name}#step"][2] != expected:
                raise checks.Failure(f"{name} has another step than {value}")
    return count


def _check_groups(live_state, groups):
    for index, group in enumerate(groups):
        for key, value in group.items():
            expected = live_state.get(f"scalar group {index} {key}")
            if expected is not None and plain(value) != expected:
                raise checks.Failure(f"group {index} has {key} {value}, not {expected}")
        if f"scalar group {index} lr" not in live_state:
            raise checks.Failure(f"the engine had no group {index}")


def _check_read(parts):
    """All ranks together read each element of a sharded tensor once; each rank reads what it holds whole."""
    read = {}
    for part in parts:
        for native, elements in part["asked"]:
            read[native] = read.get(native, 0) + elements
    for label, (_, shape, _) in parts[0]["tensors"].items():
        name, _, kind = label.rpartition("#")
        native = f"optim.state.{name}.{kind}"
        if label.startswith("weight "):
            name = label.removeprefix("weight ")
            native = f"model.{name}"
        elif kind == "step":
            continue
        expected = math.prod(shape) * (1 if name in parts[0]["sharded"] else len(parts))
        if read.get(native, 0) != expected:
            raise checks.Failure(f"the ranks read {read.get(native)} elements of {native}, not {expected}")


def _write_entry_points(package):
    """By which fsspec finds the package, as in the wheel."""
    builder = GENERATOR.with_name("build_wheel.py")
    sys.path.insert(0, str(builder.parent))
    spec = importlib.util.spec_from_file_location("build_wheel", builder)
    wheel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wheel)
    sys.path.remove(str(builder.parent))
    info = package / "shardscope-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "entry_points.txt").write_text(wheel.entry_points(wheel.PACKAGES["shardscope"]))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shardscope\nVersion: 0\n")


@dataclass(frozen=True)
class Wrong:
    """What is not there, or has another shape, is an error with its name on every rank."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"fsdp2 {self.setup.name} {self.before}->{self.after} refused"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        package = python_package(context)
        live.prepare(package, context.tool.program)
        parts = ranks.run_ranks(self.after, fsdp.wrong_load, self.setup, str(source.folder), str(package),
                                log_path=context.sources.log)
        for absent, shape in parts:
            if "Missing key in checkpoint state_dict: model.absent.weight" not in absent:
                raise checks.Failure(f"a tensor that is not there gives {absent[-300:]}")
            if "Size mismatch" not in shape or "model.norm.weight" not in shape:
                raise checks.Failure(f"a tensor of another shape gives {shape[-300:]}")
        return f"on {self.after} ranks"


@dataclass(frozen=True)
class Again:
    """An address gives the checkpoint as it is at each load; a program that died is started again, and none is left."""
    name = "fsdp2 loads again"

    def run(self, context):
        folder = context.target(self.name)
        shutil.copytree(SOURCE / "tests/data/samples/zero2-w2", folder)
        package = python_package(context)
        live.prepare(package, context.tool.program)
        _write_entry_points(package)
        found = ranks.run_ranks(1, fsdp.loads_again, str(folder), str(package), log_path=context.sources.log)[0]
        missing = [value for value in found.values() if "Missing key" in str(value)]
        if [found["first"], found["after another save"], found["after a kill"]] != [6, 3, 3]:
            raise checks.Failure(f"the loads gave {found}")
        if len(missing) != 2 or list(found.values()).count("kept") != 2 or found["programs"]:
            raise checks.Failure(f"{found}")
        return f"{found}"


STAGES = [Setup(1, "fp32"), Setup(2, "fp32"), Setup(3, "fp32", sub_group_size=1000)]


def full_run():
    return ([Fsdp(setup, 2 if setup.stage < 3 else 4, after, by_address)
             for setup in STAGES for after in (1, 2, 3, 5) for by_address in (False, True)]
            + [Fsdp(STAGES[1], 2, after, by_address, universal=True)
               for after in (1, 2, 3, 5) for by_address in (False, True)]
            + [Fsdp(STAGES[1], 2, 3, by_address, dialect="accelerate") for by_address in (False, True)]
            + [Wrong(STAGES[1], 2, 2), Again()])


def short_run():
    return [Fsdp(STAGES[1], 2, 3), Fsdp(STAGES[2], 4, 3, by_address=True), Wrong(STAGES[1], 2, 2), Again()]
