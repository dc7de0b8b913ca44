# SPDX-License-Identifier: Apache-2.0
"""Elastic ZeRO-3, converted from stock's files (elastic_zero3.py): every variant is read and rewritten into a
checkpoint that stock loads, with the engine's own state."""

from dataclasses import dataclass

from cases.elastic import named_options
from cases.stage import stage_options
from compare import checks
from runs import elastic_zero3
from runs.setups import Setup


@dataclass(frozen=True)
class ElasticZero3:
    setup: Setup
    before: int
    engine: Setup
    after: int
    form: str
    options: bool = False  # the param groups are stored
    by_group: bool = False  # states per param group, not per sub-group

    @property
    def name(self):
        way = self.form + (" with options" if self.options else "") + (" by group" if self.by_group else "")
        return f"elastic-zero3 {self.setup.name} {way} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        changed = context.target(f"{self.name} source")
        elastic_zero3.rewrite(source.folder, changed, self.form, self.options, self.by_group)
        digests = context.tool.call("fingerprint", changed)["states"]
        wanted = context.tool.call("fingerprint", source.folder)["states"]
        if any(digests.get(state) != wanted[state] for state in ("fp32", "exp_avg", "exp_avg_sq")):
            raise checks.Failure(f"read as {digests}, and the source is {wanted}")
        target = context.target(self.name)
        options = []
        if not self.options:
            refused = context.tool.call("reshard", changed, target, "-w", self.after, expect=6)
            if "--optimizer-option" not in refused["hint"]:
                raise checks.Failure(f"the refusal names no way: {refused}")
            options = named_options(self.setup)
        context.tool.reshard(changed, target, self.after, *stage_options(self.engine), *options)
        if not context.tool.call("verify", target, "--against", changed)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        tensors = checks.same_state(source.state, state)
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.engine.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


# Sub-groups of 200 also end at the ends of groups, so that their sizes do not identify the groups: something else must.
SMALL = Setup(3, "bf16", sub_group_size=200)
BF16 = Setup(3, "bf16")
FP32 = Setup(3, "fp32", sub_group_size=1000)


def full_run():
    return [
        ElasticZero3(BF16, 4, BF16, 3, "views"),
        ElasticZero3(BF16, 4, BF16, 2, "copies"),
        ElasticZero3(BF16, 3, BF16, 5, "flat"),
        ElasticZero3(SMALL, 4, SMALL, 4, "copies", options=True),
        ElasticZero3(SMALL, 4, SMALL, 2, "copies", by_group=True),
        ElasticZero3(FP32, 2, FP32, 3, "views", options=True),
        ElasticZero3(BF16, 2, Setup(2, "bf16"), 3, "copies"),
        ElasticZero3(FP32, 3, Setup(1, "fp32"), 2, "flat", options=True),
    ]
