# SPDX-License-Identifier: Apache-2.0
"""Repairs that take values from elsewhere than where they belong: weights that were lost are grafted, and what
DeepSpeed's converter scrambles is put in order again. Both load in unmodified DeepSpeed, bit for bit."""

from dataclasses import dataclass, replace

import checks
import universal
from cases_doctor import find, hurt_copy, mend, wounds
from setups import Setup


@dataclass(frozen=True)
class Grafted:
    """Lost frozen parameters and buffers, from another checkpoint of the run or from its exported weights."""
    setup: Setup
    before: int
    wound: str
    code: str
    weights: bool = False

    @property
    def name(self):
        return f"doctor graft {self.wound} {self.setup.name} {self.before}{' weights' if self.weights else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = hurt_copy(context, source, self.name, getattr(wounds, self.wound))
        find(context, folder, self.code)
        donor = context.target(f"{self.name} other")
        if self.weights:
            context.tool.call("export", source.folder, donor)
        else:
            context.tool.reshard(source.folder, donor, self.before + 1)
        target = context.target(self.name)
        if not mend(context, folder, self.code, target, "--from", donor):
            raise checks.Failure("what came from elsewhere is not marked")
        state, losses, _ = context.sources.resume(self.setup, self.before, target)
        tensors = checks.same_state(source.state, state)
        deviation = checks.losses_track(source.losses, losses, 0.0)
        return f"found, grafted, {tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class Unscrambled:
    """A universal folder that DeepSpeed's converter made of a round-robin run: it has the fingerprint of the run again,
    and loads as one that was converted rightly."""
    setup: Setup
    before: int
    engine: Setup
    after: int

    @property
    def name(self):
        return f"doctor unscramble {self.setup.name} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        scrambled = universal.make_universal(context, "stock", source.folder, self.name)
        find(context, scrambled, "universal-from-round-robin")
        target = context.target(self.name)
        if mend(context, scrambled, "S22", target):
            raise checks.Failure("something is marked, though nothing was made up")
        told = [context.tool.call("fingerprint", folder)["fingerprint"] for folder in (source.folder, target)]
        if told[0] != told[1]:
            raise checks.Failure(f"the fingerprint is {told[1]}, and that of the source {told[0]}")
        resumed = universal.resume(context, self.engine, self.after, target)
        changes = universal.stock_changes(source.state, self.setup, self.engine)
        tensors = checks.same_state_but(source.state, resumed.state, changes)
        deviation = checks.losses_track(source.losses, resumed.losses, checks.TOLERANCE[self.engine.precision])
        return f"found, in order again, {tensors} tensors bit-equal, loss deviation {deviation:.1e}"


SCRAMBLED = [replace(Setup(stage, precision, round_robin=True), shape=(universal.PLAIN_NAMES,))
             for stage, precision in ((2, "bf16"), (1, "fp32"), (2, "fp16"))]
LOST = [("frozen_missing", "frozen-lost"), ("buffer_missing", "buffers-lost")]


def short_run():
    return [Grafted(Setup(3, "bf16", sub_group_size=200), 2, *LOST[0]), Unscrambled(SCRAMBLED[0], 3, SCRAMBLED[0], 2)]


def full_run():
    cases = [Grafted(setup, 3, *lost, weights) for lost in LOST for weights in (False, True)
             for setup in (Setup(2, "bf16"), Setup(2, "fp16"), Setup(3, "bf16", sub_group_size=200), Setup(3, "fp32"))]
    cases += [Grafted(Setup(1, "bf16"), 3, *LOST[1]), Grafted(Setup(1, "bf16", bf16_optimizer=True), 3, *LOST[1])]
    cases += [Unscrambled(setup, before, replace(setup, round_robin=kept), after) for setup in SCRAMBLED
              for before, kept, after in ((3, True, 2), (2, False, 3), (4, False, 1))]
    return cases
