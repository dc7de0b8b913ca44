# SPDX-License-Identifier: Apache-2.0
"""Samples that releases before 0.14 saved, rewritten and loaded in today's DeepSpeed."""

import ast
import json
import struct
from dataclasses import dataclass

from compare import checks, live_state
from runs import golden
from runs.golden import OLD_SAMPLES
from runs.setups import Setup

# ZeRO-3 before 0.9.1 leaves frozen parameters out of its files.
NEVER_SAVED = ("positions.weight",)


def _number(text):
    """The value in a scalar's repr: PyTorch keeps `step` as an int in one release and as a tensor in another."""
    kind, *rest = ast.literal_eval(text)
    if kind == "tensor":
        return struct.unpack("<f", rest[-1])[0]
    return float(rest[0]) if kind == "int" else float.fromhex(rest[0])


def _scalars_differ(noted, found):
    wrong = []
    for key, value in noted.items():
        if key.endswith(" step"):
            same = key in found and _number(value) == _number(found[key])
        elif key.startswith("group ") and key.rsplit(" ", 1)[1] in ("lr", "betas", "eps", "weight_decay"):
            same = found.get(key) == value
        elif key in ("global_steps", "global_samples", "skipped_steps"):
            same = found.get(key) == value
        else:
            continue  # values that other releases of PyTorch and DeepSpeed represent differently
        if not same:
            wrong.append(key)
    return wrong


def same_as_noted(sample, state, whole=True):
    noted = json.loads(sample.with_suffix(".json").read_text(encoding="utf-8"))["tags"][(sample / "latest").read_text()]
    found = golden.describe(checks._in_noted_types(state, noted["weights"]))
    if not whole:
        for name in NEVER_SAVED:
            noted["weights"].pop(name, None)
            found["weights"].pop(name, None)
    for part in ("parameters", "weights"):
        wrong = sorted(key for key in noted[part].keys() | found[part].keys()
                       if noted[part].get(key) != found[part].get(key))
        if wrong:
            raise checks.Failure(f"{part} differ from what was noted: {wrong[:8]}")
    if wrong := _scalars_differ(noted["scalars"], found["scalars"]):
        raise checks.Failure(f"scalars differ from what was noted: {wrong[:8]}")
    return sum(len(entry["states"]) for entry in found["parameters"].values()) + len(found["weights"])


@dataclass(frozen=True)
class OldSample:
    """After a rewrite today's DeepSpeed loads what the old engine held, and training continues."""
    sample: str
    setup: Setup
    after: int
    options: tuple = ()

    @property
    def name(self):
        stage = f" to zero{self.setup.stage}" if self.setup != OLD_SAMPLES[self.sample][1] else ""
        return f"old {self.sample} ->{self.after}{stage}"

    def run(self, context):
        source, target = context.samples / self.sample, context.target(self.name)
        context.tool.reshard(source, target, self.after, *self.options)
        state, losses, _ = context.sources.resume(self.setup, self.after, target)
        if not all(loss < 10 for loss in losses):
            raise checks.Failure(f"training on gives losses {losses}")
        tensors = same_as_noted(source, state, whole=OLD_SAMPLES[self.sample][1].stage < 3)
        return f"{tensors} tensors and scalars as noted by the engine that saved it"


@dataclass(frozen=True)
class OldAsStock:
    """If stock still loads the old files with their number of ranks, our rewrite gives the same state."""
    sample: str
    setup: Setup
    world: int

    @property
    def name(self):
        return f"old {self.sample} as stock loads it"

    def run(self, context):
        source, target = context.samples / self.sample, context.target(self.name)
        context.tool.reshard(source, target, self.world)
        expected, expected_losses, _ = context.sources.resume(self.setup, self.world, source)
        state, losses, _ = context.sources.resume(self.setup, self.world, target)
        # The old object lacks an attribute that today's class needs at the next overflow.
        if wrong := live_state.differences(expected, state, ignore=("scalar loss_scaler", )):
            raise checks.Failure(f"differences: {wrong[:8]}")
        if losses != expected_losses:
            raise checks.Failure(f"losses {losses} are not {expected_losses}")
        return f"state and losses of {len(losses)} steps are equal"


# The options of setups.py, without those that the scheduler records; these files hold no options.
NAMED = ("0:betas=(0.9, 0.95)", "1:betas=(0.85, 0.99)", "2:betas=(0.8, 0.9)", "eps=1e-8", "1:eps=1e-7",
         "0:weight_decay=0.1", "1:weight_decay=0.01", "2:weight_decay=0.0", "bias_correction=True")
WITHOUT_OPTIONS = ("ds0310-zero2-w2", "ds045-zero2-w3")


def _cases(names, after):
    named = tuple(word for option in NAMED for word in ("--optimizer-option", option))
    return [OldSample(name, OLD_SAMPLES[name][1], after, named if name in WITHOUT_OPTIONS else ()) for name in names]


def short_run():
    return _cases(["ds045-zero2-w3", "ds053-zero3-w3", "ds0510-zero2-w3"], 2)


def full_run():
    stages = [OldSample("ds0510-zero2-w3", Setup(3, "fp16", shape=golden.SMALL, scheduler="steps"), 2, ("--stage", "3"))]
    stock = [OldAsStock(name, OLD_SAMPLES[name][1], OLD_SAMPLES[name][0])
             for name in ("ds0510-zero2-w3", "ds067-zero1-w2", "ds083-zero3-w2", "ds0103-bf16opt-w2",
                          "ds0135-zero2-w3")]
    return _cases(OLD_SAMPLES, 1) + _cases(OLD_SAMPLES, 4) + stages + stock
