# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of runs without ZeRO: from and to every stage, and to other numbers of ranks."""

import itertools
from dataclasses import dataclass, replace

from cases.stage import LikeStock, StageRoundTrip
from cases.universal import stage_options
from compare import checks, live_state, structure
from runs import universal
from runs.setups import NO_CLIPPING, Setup

SCALING = ("loss_scaler", "loss_scale_config", "dynamic_loss_scale", "overflow", "clip_grad")
# Under the names of the object that ZeRO keeps.
KEPT_BY_ALL = ("cur_scale", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window")
# setups.py; what a run without ZeRO does not keep starts as configured.
CONFIGURED = {"min_scale": 1, "delayed_shift": 2, "cur_hysteresis": 2, "consecutive_hysteresis": False,
              "raise_error_at_min_scale": True}


def _pairs(value):
    return dict(value[1])


def scaling(state, setup):
    """The loss scaler of a live engine, as attribute -> value."""
    if setup.stage:
        found = state["scalar loss_scaler"]
        return {} if found is None else _pairs(found[1])
    if setup.precision == "fp32":
        return {}
    found = _pairs(state["scalar loss_scale_config"])
    found["dynamic"] = found["dynamic_loss_scale"]
    found["min_scale"] = found["min_loss_scale"]
    return found


def check_scaling(before, setup, after, engine):
    """Every value that both forms keep has the same value and type; the others are those of a new engine."""
    old, new = scaling(before, setup), scaling(after, engine)
    if setup.precision != "fp16":
        wrong = [] if not new or new["cur_scale"] == live_state.plain(1.0) else ["cur_scale"]
    else:
        wrong = [key for key in (*KEPT_BY_ALL, "dynamic") if old[key] != new[key]]
        if engine.stage and not setup.stage:
            wrong += [key for key, value in CONFIGURED.items() if new[key] != live_state.plain(value)]
            wrong += [key for key in new if key not in (*KEPT_BY_ALL, *CONFIGURED, "dynamic", "dtype")]
        if new["min_scale"] != live_state.plain(1):
            wrong.append("min_scale")
    if wrong:
        raise checks.Failure(f"loss scaling differs in {[(key, old.get(key), new.get(key)) for key in wrong]}")


def _clipping(state, setup):
    """FP16_UnfusedOptimizer and torch's optimizers do not load it; they take it from the configuration."""
    norm = 1.0 if setup.clips else NO_CLIPPING
    return state.get("scalar clip_grad") in (live_state.plain(norm), live_state.plain(None))


def comparable(state, setup):
    """Without what check_scaling() compares."""
    left = {label: value for label, value in state.items() if label not in {f"scalar {key}" for key in SCALING}}
    if setup.stage == 0 and setup.optimizer == "fusedadam" and setup.precision == "fp32":
        # FusedAdam advances the step of a group's last parameter alone, and reads no other.
        steps = {label: value for label, value in left.items() if label.endswith(" step") and " group " not in label}
        most = max(steps.values(), key=lambda value: int(value[1]))
        left.update((label, most) for label in steps)
    return left


@dataclass(frozen=True)
class Stage0:
    """Save in one stage, reshard, load in unmodified DeepSpeed in another, where one of them is 0."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    options: tuple = ()
    through_universal: bool = False
    through: Setup = None  # a stage on the way

    @property
    def name(self):
        by = " through universal" if self.through_universal else ""
        by += f" through {self.through.name}" if self.through else ""
        return f"stage 0 {self.setup.name} {self.before}->{self.engine.name} {self.after}{by}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        folder = source.folder
        if self.through_universal:
            folder = context.target(f"{self.name} on the way")
            context.tool.convert(source.folder, folder)
        if self.through:
            folder = context.target(f"{self.name} on the way")
            context.tool.reshard(source.folder, folder, 4, *stage_options(self.through))
        context.tool.reshard(folder, target, self.after, *stage_options(self.engine), *self.options)
        inspected = context.tool.call("inspect", target)
        # The copied configuration is the source's, with another size of sub-groups or none.
        findings = [finding for finding in inspected["findings"] if finding["code"] != "sub-group-size"]
        if not inspected["supported"] or findings or (inspected["zero_stage"], inspected["parallel"]["dp"]) != (
                self.engine.stage, self.after):
            raise checks.Failure(f"inspect says {inspected['why_not']}, {findings}, {inspected['zero_stage']}")
        # Each is compared with its own source: stage 0 keeps less of the loss scale's history.
        for ours, before in ((folder, source.folder), (target, folder)):
            if ours != before and not context.tool.call("verify", ours, "--against", before)["ok"]:
                raise checks.Failure(f"verify does not find {before} in what was made of it")
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        tensors = checks.same_state(comparable(source.state, self.setup), comparable(state, self.engine))
        check_scaling(source.state, self.setup, state, self.engine)
        if not _clipping(state, self.engine):
            raise checks.Failure(f"gradient clipping is {state['scalar clip_grad']}")
        checks.same_client_state(client)
        # DeepSpeed 0.19.8 without ZeRO divides fp16 gradients by the loss scale and does not multiply the loss by it:
        # its moments are of other gradients than those of the continued run, and only one loss can agree.
        alike = 1 if self.setup.precision == "fp16" and bool(self.setup.stage) != bool(self.engine.stage) else None
        deviation = checks.losses_track(source.losses[:alike], losses[:alike], checks.TOLERANCE[self.engine.precision])
        if not losses[-1] < losses[0]:
            raise checks.Failure(f"training on gives losses {losses}")
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class OtherRanks:
    """Without ZeRO nothing is partitioned: the same state, every scalar included, at another number of ranks."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"stage 0 {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        alike = structure.compare(source.folder, target, ("dp_world_size",))
        state, losses, client = context.sources.resume(self.setup, self.after, target)
        # A flag of the last step, which no file keeps.
        tensors = checks.same_state_but(*({key: value for key, value in one.items() if key != "scalar overflow"}
                                          for one in (source.state, state)), {})
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.setup.precision])
        return f"{tensors} tensors bit-equal, {alike} values as they were, loss deviation {deviation:.1e}"


def _kinds():
    """Precision and optimizer for each of the three forms: torch, fp16-unfused, fp16."""
    yield from (Setup(0, precision, optimizer) for precision, optimizer in itertools.product(
        ("fp32", "bf16", "fp16"), ("adamw", "fusedadam")))
    yield Setup(0, "bf16", "cpuadam")
    yield Setup(0, "fp32", "sgd")
    yield Setup(0, "fp32", "lion")
    # Not torch's Adagrad: it makes its state before DeepSpeed replaces the parameters, and cannot be saved.


def _in_stage(setup, stage):
    return replace(setup, stage=stage, sub_group_size=200 if stage == 3 else 0)


def short_run():
    return [
        Stage0(Setup(0, "fp16", "fusedadam"), 2, Setup(2, "fp16", "fusedadam"), 3),
        Stage0(_in_stage(Setup(0, "bf16"), 3), 3, Setup(0, "bf16"), 2),
        Stage0(Setup(0, "fp32"), 2, Setup(1, "fp32"), 3),
        OtherRanks(Setup(0, "fp32"), 2, 3),
    ]


def older_run():
    """In 0.16 bf16 without ZeRO is BF16_Optimizer, which loads files of its own alone (live.py)."""
    return [case for case in short_run() if getattr(case, "engine", case.setup) != Setup(0, "bf16")]


def full_run():
    cases = []
    for setup, stage in itertools.product(_kinds(), (1, 2, 3)):
        cases.append(Stage0(setup, 2, _in_stage(setup, stage), 3))
        cases.append(Stage0(_in_stage(setup, stage), 3, setup, 2))
    cases += [OtherRanks(setup, 2, 3) for setup in (*_kinds(), Setup(0, "fp32", "adafactor"))]
    plain = (("odd_names", universal.PLAIN_NAMES[1]),)
    for setup in (Setup(0, "fp32", shape=plain), Setup(0, "bf16", "fusedadam", shape=plain),
                  Setup(0, "fp16", shape=plain)):
        cases.append(Stage0(setup, 2, _in_stage(setup, 3), 3, through_universal=True))
        cases.append(Stage0(_in_stage(setup, 2), 3, setup, 2, through_universal=True))
        cases.append(Stage0(setup, 2, setup, 3, through_universal=True))
    for optimizer in ("adamw", "fusedadam"):
        for stage, between in ((0, 1), (0, 3), (1, 0), (3, 0)):
            setup = Setup(0, "fp16", optimizer)
            cases.append(Stage0(_in_stage(setup, stage), 2, _in_stage(setup, stage), 3,
                                through=_in_stage(setup, between)))
    cases.append(Stage0(Setup(1, "bf16", bf16_optimizer=True), 2, Setup(0, "bf16"), 3))
    # ZeRO clips after Muon, stage 0 before it: the losses continue the same without clipping alone.
    for stage in (1, 2, 3):
        muon = Setup(0, "bf16", "muon", clips=False)
        cases.append(Stage0(_in_stage(muon, stage), 3, muon, 2))
        cases.append(Stage0(muon, 2, _in_stage(muon, stage), 3))
    for more in ({"round_robin": True}, {"aligned": True}, {"round_robin": True, "aligned": True}):
        cases.append(Stage0(Setup(2, "bf16", **more), 3, Setup(0, "bf16"), 2))
    empty = (("empty_parameter", True),)
    cases.append(Stage0(Setup(0, "bf16", shape=empty), 2, Setup(2, "bf16", shape=empty), 3))
    for precision in ("fp32", "bf16"):
        for optimizer in ("adamw", "fusedadam"):
            setup = Setup(0, precision, optimizer)
            if (precision, optimizer) != ("fp32", "fusedadam"):
                cases.append(LikeStock(_in_stage(setup, 1), 2, setup, 3))
            cases.append(LikeStock(setup, 2, _in_stage(setup, 2), 3))
        cases.append(StageRoundTrip(Setup(1, precision), 2, Setup(0, precision), 3))
    return cases
