# SPDX-License-Identifier: Apache-2.0
"""Native checkpoints of one ZeRO stage, rewritten for another."""

from dataclasses import dataclass

from cases.universal import stage_options
from compare import checks, structure
from runs import universal
from runs.setups import Setup


@dataclass(frozen=True)
class StageChange:
    """Save in one stage, reshard, load in another: the same state bit for bit, and the losses continue the same."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    options: tuple = ()

    @property
    def name(self):
        asked = "".join(f" as {kind}" for word, kind in zip(self.options, self.options[1:]) if word == "--kind")
        return f"stage {self.setup.name} {self.before}->{self.engine.name} {self.after}{asked}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, *stage_options(self.engine), *self.options)
        answer = context.tool.call("inspect", target)
        if not answer["supported"] or (answer["zero_stage"], answer["parallel"]["dp"]) != (self.engine.stage, self.after):
            raise checks.Failure(f"inspect says {answer['why_not']}, stage {answer['zero_stage']}, {answer['parallel']}")
        if not context.tool.call("verify", target)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        changes = universal.scaler_changes(self.setup, self.engine, source.state)
        tensors = checks.same_state_but(source.state, state, changes)
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.engine.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class LikeStock:
    """After a change of stage, the files are like those that a run in the new stage saves: the same names, the same
    objects, the same tensors except for their values."""
    setup: Setup
    before: int
    engine: Setup
    after: int

    @property
    def name(self):
        return f"files {self.setup.name} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        stock = context.sources.get(self.engine, self.after)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, *stage_options(self.engine))
        ignored = structure.UNKNOWN_TO_ZERO3 if self.setup.stage in (0, 3) else ()
        if self.setup.optimizer == "fusedadam" and self.setup.precision != "fp32" and 0 in (
                self.setup.stage, self.engine.stage):
            # Without ZeRO FP16_Optimizer makes a step of zeros first, which FusedAdam counts: such a run is one ahead.
            ignored = (*ignored, "step")
        alike = structure.compare(stock.folder, target, ignored)
        return f"{alike} values and tensors like those of a run in that stage"


@dataclass(frozen=True)
class StageRoundTrip:
    """Through another stage and back: every tensor and value equals the source's, except those that the other stage
    does not save. The number of jobs changes no byte."""
    setup: Setup
    before: int
    between: Setup
    world: int

    @property
    def name(self):
        return f"stage round trip {self.setup.name} {self.before}->{self.between.name} {self.world}->{self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        there, again, back = (context.target(f"{self.name} {part}") for part in ("there", "again", "back"))
        context.tool.reshard(source.folder, there, self.world, *stage_options(self.between))
        context.tool.reshard(source.folder, again, self.world, *stage_options(self.between), "--jobs", 1)
        files = checks.same_files(there, again, ignore=())
        context.tool.reshard(there, back, self.before, *stage_options(self.setup))
        lost = structure.UNKNOWN_TO_ZERO3 if self.between.stage in (0, 3) else ()
        tensors = checks.same_payload(source.folder, back, without=lost)
        return f"{files} files byte-equal, {tensors} tensors equal to the source's"
