# SPDX-License-Identifier: Apache-2.0
"""Compares `shardscope fingerprint` with the reference that is computed from live tensors, and tests what must change
it and what must not."""

import shutil
from dataclasses import dataclass, replace

import torch

from cases.universal import stage_options
from compare import checks, fingerprint, live_state
from runs import ranks, universal
from runs.setups import Setup
from runs.sources import CLIENT_STATE


def parts_of_answer(answer):
    """(name, state) -> digest, as the reference has them."""
    found = {(scalar["name"], scalar["state"]): scalar["digest"] for scalar in answer["scalars"]}
    for name, states in answer["parameters"].items():
        found.update({(name, state): digest for state, digest in states.items()})
    return {part: int(digest, 16) for part, digest in found.items() if int(digest, 16)}


def same_as_reference(context, folder, state):
    """Compares part by part, so that a failure names the part; then the sum."""
    answer = context.tool.call("fingerprint", folder, "--per-parameter")
    printed, expected = parts_of_answer(answer), fingerprint.parts(state)
    wrong = sorted(part for part in printed.keys() | expected.keys() if printed.get(part) != expected.get(part))
    if wrong:
        raise checks.Failure(f"{len(wrong)} of {len(expected)} parts are not the reference's: {wrong[:8]}")
    if answer["fingerprint"] != fingerprint.fingerprint(state):
        raise checks.Failure("the parts are the reference's, and the sum is not")
    return answer


def _load_and_save(rank, world, setup, folder, target):
    from runs.training import build_engine
    engine = build_engine(setup, world, seed=99)
    path, _ = engine.load_checkpoint(folder)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    engine.save_checkpoint(target, client_state=dict(CLIENT_STATE))
    return live_state.local_state(engine, rank)


def saved_again(context, setup, world, folder, target):
    """Loaded in unmodified DeepSpeed and saved by it, with no step between; the live state."""
    return live_state.merge(ranks.run_ranks(world, _load_and_save, setup, str(folder), str(target),
                                           log_path=context.sources.log))


@dataclass(frozen=True)
class Reference:
    """The digest of the saved checkpoint equals that of the live engine."""
    setup: Setup
    world: int

    @property
    def name(self):
        return f"fingerprint reference {self.setup.name} g{self.setup.groups} {self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        answer = same_as_reference(context, source.folder, source.state)
        return f"{answer['fingerprint']} is that of {len(fingerprint.parts(source.state))} live parts"


# It stops if it does not find Adam's states, drops AMSGrad's additional state, and does not read stage 0.
KNOWN_TO_CONVERTER = ("adamw", "fusedadam", "cpuadam")
# Attributes of a loss scaler; a target with ZeRO gets those of a new run.
ONLY_WITH_ZERO = ("consecutive_hysteresis", "cur_hysteresis", "delayed_shift", "dtype", "min_scale",
                  "raise_error_at_min_scale")


def _holds(context, folder, expected, lost=frozenset()):
    """1 if the folder has exactly the expected parts, except those that are known to be lost."""
    answer = context.tool.call("fingerprint", folder, "--per-parameter")
    printed = parts_of_answer(answer)
    wrong = {part for part in printed.keys() | expected.keys() if printed.get(part) != expected.get(part)}
    if wrong != lost:
        raise checks.Failure(f"{folder.name} has another digest, in {sorted(wrong)[:8]}, known are {sorted(lost)[:8]}")
    if (int(answer["fingerprint"], 16) == fingerprint.total(expected.values())) != (not lost):
        raise checks.Failure(f"{folder.name}: the sum is not that of its parts")
    return 1


@dataclass(frozen=True)
class Same:
    """One state, rewritten for other ranks, stages and forms by shardscope and by stock: the same digest."""
    setup: Setup
    world: int
    stages: tuple = ()  # of Setup
    worlds: tuple = (1, 2, 5, 6, 8, 3)  # DeepSpeed loads the last one

    @property
    def name(self):
        return f"fingerprint same {self.setup.name} g{self.setup.groups} {self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        same_as_reference(context, source.folder, source.state)
        expected = fingerprint.parts(source.state)
        seen = 0
        for world in self.worlds:
            target = context.target(f"{self.name} at {world}")
            written = context.tool.reshard(source.folder, target, world)
            if written["result"]["fingerprint"] != fingerprint.fingerprint(source.state):
                raise checks.Failure(f"reshard to {world} says another fingerprint")
            seen += _holds(context, target, expected)
        again = context.target(f"{self.name} saved again")
        saved_again(context, self.setup, self.worlds[-1], target, again)
        seen += _holds(context, again, expected, self._lost_by_loading(expected))
        for stage in self.stages:
            target, again = (context.target(f"{self.name} {stage.name}{more}") for more in ("", " saved again"))
            context.tool.reshard(source.folder, target, 2, *stage_options(stage))
            lost = self._scaling_of(stage)
            seen += _holds(context, target, expected, lost)
            saved_again(context, stage, 2, target, again)
            seen += _holds(context, again, expected, lost)
        known = self.setup.stage and self.setup.optimizer in KNOWN_TO_CONVERTER
        for route in ("ours", "stock", "upgraded") if known else ("ours",):
            folder = universal.make_universal(context, route, source.folder, self.name)
            seen += _holds(context, folder, expected, self._scaling_of(Setup(1, self.setup.precision)))
        return f"{fingerprint.fingerprint(source.state)} {seen} times"

    def _scaling_of(self, target):
        """What only one of the two has, because one is without ZeRO."""
        differs = self.setup.precision == "fp16" and bool(self.setup.stage) != bool(target.stage)
        return {("scaler", attribute) for attribute in ONLY_WITH_ZERO} if differs else set()

    def _lost_by_loading(self, expected):
        """Muon's momentum is kept in the type of the gradients, and DeepSpeed loads it into fp32: the same values in
        other bits, until the next step."""
        if self.setup.optimizer != "muon" or self.setup.precision == "fp32":
            return set()
        return {part for part in expected if part[1] == "momentum_buffer"}


def _optimizer_files(folder):
    tag = folder / (folder / "latest").read_text()
    return sorted(tag.glob("*optim_states.pt"))


def _nested(saved):
    state = saved["optimizer_state_dict"]
    return state.get("optimizer_state_dict") or state["base_optimizer_state"]


def _edit(folder, change, only=None):
    """Loads, changes and saves the optimizer files: all, or the one of a rank; CRCs are recomputed."""
    for number, path in enumerate(_optimizer_files(folder)):
        if only in (None, number):
            saved = torch.load(path, weights_only=False, map_location="cpu")
            change(_nested(saved))
            torch.save(saved, path)


def flip_bit(folder):
    def flip(nested):
        nested["state"][0]["exp_avg"].view(torch.int32)[1] ^= 1
    _edit(folder, flip, only=1)


def shift_step(by):
    def change(folder):
        def shift(nested):
            for entry in nested["state"].values():
                entry["step"] = entry["step"] + by
        _edit(folder, shift)
    return change


def change_option(folder):
    def change(nested):
        nested["param_groups"][1]["weight_decay"] += 1e-9
    _edit(folder, change)


def swap_ranks(folder):
    """ZeRO-3's optimizer files, saved again, because an archive records the name under which it was saved."""
    paths = _optimizer_files(folder)
    saved = [torch.load(path, weights_only=False, map_location="cpu") for path in paths]
    for path, state in zip(paths, reversed(saved)):
        torch.save(state, path)


SWAPPED = ("layers.0.attention.wq.weight", "layers.0.attention.wk.weight")


def swap_parameters(folder):
    """In a universal folder: both folders change names, and the 16-bit copies with them."""
    tag = folder / (folder / "latest_universal").read_text()
    one, other = (tag / "zero" / name for name in SWAPPED)
    spare = tag / "zero" / "spare"
    one.rename(spare), other.rename(one), spare.rename(other)
    path = tag / "mp_rank_00_model_states.pt"
    saved = torch.load(path, weights_only=False, map_location="cpu")
    module = saved["module"]
    module[SWAPPED[0]], module[SWAPPED[1]] = module[SWAPPED[1]].clone(), module[SWAPPED[0]].clone()
    torch.save(saved, path)


@dataclass(frozen=True)
class Differs:
    """One change to one file, or to a value that all files record: another digest in these parts only."""
    about: str
    setup: Setup
    change: object
    differs: object  # whether this (name, state) has to differ
    parts: int  # how many do
    universal: bool = False

    @property
    def name(self):
        return f"fingerprint differs {self.about} {self.setup.name}"

    def run(self, context):
        source = context.sources.get(self.setup, 2)
        folder = context.target(self.name)
        if self.universal:
            context.tool.convert(source.folder, folder)
            (folder / (folder / "latest_universal").read_text() / "shardscope.json").unlink()
        else:
            shutil.copytree(source.folder, folder)
        before = context.tool.call("fingerprint", folder, "--per-parameter")
        self.change(folder)
        after = context.tool.call("fingerprint", folder, "--per-parameter")
        if before["fingerprint"] == after["fingerprint"]:
            raise checks.Failure("the fingerprint is the same")
        old, new = parts_of_answer(before), parts_of_answer(after)
        changed = [part for part in old.keys() | new.keys() if old.get(part) != new.get(part)]
        if len(changed) != self.parts or not all(self.differs(*part) for part in changed):
            raise checks.Failure(f"{len(changed)} parts differ: {sorted(changed)[:8]}")
        return f"{len(changed)} of {len(old)} parts differ"


def _edit_model(folder, change):
    path = folder / (folder / "latest").read_text() / "mp_rank_00_model_states.pt"
    saved = torch.load(path, weights_only=False, map_location="cpu")
    change(saved)
    torch.save(saved, path)


def set_rate(rate):
    def change(saved):
        saved["optimizer"]["param_groups"][0]["lr"] = rate
    return lambda folder: _edit_model(folder, change)


def stride_positions(folder):
    def change(saved):
        saved["module"]["positions.weight"] = saved["module"]["positions.weight"].t().contiguous().t()
    _edit_model(folder, change)


@dataclass(frozen=True)
class Alike:
    """One state in two forms, which torch takes for the same."""
    about: str
    setup: Setup
    changes: tuple

    @property
    def name(self):
        return f"fingerprint same {self.about} {self.setup.name}"

    def run(self, context):
        found = set()
        for number, change in enumerate(self.changes):
            folder = context.target(f"{self.name} {number}")
            shutil.copytree(context.sources.get(self.setup, 2).folder, folder)
            change(folder)
            found.add(context.tool.call("fingerprint", folder)["fingerprint"])
        if len(found) != 1:
            raise checks.Failure(f"{len(found)} fingerprints")
        return f"{found.pop()} {len(self.changes)} times"


@dataclass(frozen=True)
class Refused:
    """State without a defined digest: no fingerprint is printed, because other states would have the same."""
    about: str
    setup: Setup
    change: object
    named: str

    @property
    def name(self):
        return f"fingerprint refused {self.about} {self.setup.name}"

    def run(self, context):
        folder = context.target(self.name)
        shutil.copytree(context.sources.get(self.setup, 2).folder, folder)
        self.change(folder)
        error = context.tool.call("fingerprint", folder, expect=4)
        if self.named not in error["message"]:
            raise checks.Failure(f"it is refused with {error['message']}")
        return error["message"]


def _stages(setup, *numbers):
    return tuple(replace(setup, stage=number, bf16_optimizer=False, sub_group_size=200 if number == 3 else 0)
                 for number in numbers)


PLAIN = (("odd_names", universal.PLAIN_NAMES[1]),)


def _differences():
    setup = Setup(2, "bf16")
    return [
        Differs("bit of a moment", setup, flip_bit, lambda name, state: state == "exp_avg", 1),
        Differs("step+1", setup, shift_step(1), lambda name, state: state == "step", 3),
        Differs("step-1", setup, shift_step(-1), lambda name, state: state == "step", 3),
        Differs("option", setup, change_option, lambda name, state: (name, state) == ("group/1", "option/weight_decay"),
                1),
        Differs("swapped parameters", Setup(2, "bf16", shape=PLAIN), swap_parameters,
                lambda name, state: name in SWAPPED, 6, universal=True),
        Differs("swapped ranks", Setup(3, "bf16", sub_group_size=200), swap_ranks,
                lambda name, state: state in ("fp32", "exp_avg", "exp_avg_sq", "weight"), 60),
    ]


def short_run():
    return [
        Reference(Setup(2, "bf16"), 3),
        Reference(Setup(3, "fp16"), 2),
        Same(Setup(3, "bf16", sub_group_size=200, shape=PLAIN), 4, _stages(Setup(3, "bf16", shape=PLAIN), 0, 1),
             worlds=(1, 3)),
        _differences()[0],
    ]


def full_run():
    from matrix import ADAFACTOR, ALIGNED, EACH_OPTIMIZER, MUON, OTHER_OPTIMIZERS, ROUND_ROBIN, SETUPS
    kinds = [*SETUPS, *OTHER_OPTIMIZERS, *EACH_OPTIMIZER, *ADAFACTOR, *MUON, ROUND_ROBIN[1], ALIGNED[1]]
    kinds += [Setup(0, precision, optimizer) for precision in ("fp32", "bf16", "fp16")
              for optimizer in ("adamw", "fusedadam")]
    kinds += [Setup(0, "fp32", "sgd"), Setup(0, "fp32", "lion")]
    cases = [Reference(setup, 2) for setup in dict.fromkeys(kinds)]
    for setup in (Setup(1, "bf16"), Setup(2, "fp32"), Setup(3, "bf16", sub_group_size=200), Setup(3, "fp32"),
                  Setup(1, "bf16", bf16_optimizer=True), Setup(2, "fp32", "lion"), Setup(2, "bf16", "sgd"),
                  Setup(1, "fp32", "fusedadam"), Setup(2, "fp16"), Setup(3, "fp16"), Setup(2, "fp32", "amsgrad"),
                  Setup(1, "fp32", "rmsprop")):
        setup = replace(setup, shape=PLAIN)
        cases.append(Same(setup, 4, _stages(setup, *{0, 1, 2, 3} - {setup.stage})))
    for setup in (Setup(2, "bf16", "muon"), Setup(2, "fp32", "muon"), Setup(0, "fp16"), Setup(0, "fp32")):
        cases.append(Same(replace(setup, shape=PLAIN), 2))
    cases += [Alike("rate as tensor", Setup(0, "fp32"), (set_rate(0.25), set_rate(torch.tensor(0.25)))),
              Refused("strides", Setup(2, "bf16"), stride_positions, "`positions.weight`")]
    return cases + _differences()
