# SPDX-License-Identifier: Apache-2.0
"""Elastic checkpoints, which hold no options of the optimizer: the user names what the tool cannot read."""

from dataclasses import dataclass, replace

from cases.stage import stage_options
from compare import checks
from runs.setups import Setup, optimizer_groups


def named_options(setup):
    """The options as a user would name them; rates come from the scheduler."""
    wanted = {"adamw": ("betas", "eps", "weight_decay"), "cpuadam": ("betas", "eps", "weight_decay"),
              "fusedadam": ("betas", "eps", "weight_decay"), "lion": ("betas", "weight_decay"),
              "sgd": ("momentum", "weight_decay")}[setup.optimizer]
    # torch's SGD is created with fused=None, and sets it to False if a loaded state has no value.
    words = {"sgd": ["dampening=0", "nesterov=False", "1:nesterov=True", "fused=None"],
             "adamw": ["eps=1e-8"], "lion": [], "cpuadam": ["eps=1e-8", "bias_correction=True"],
             "fusedadam": ["eps=1e-8", "bias_correction=True"]}
    out = list(words[setup.optimizer])
    for index, group in enumerate(optimizer_groups(setup, [1], [2], [3])):
        out += [f"{index}:{key}={group[key]}" for key in wanted if key in group]
    return [word for option in out for word in ("--optimizer-option", option)]


@dataclass(frozen=True)
class Elastic:
    """An elastic checkpoint, which stock cannot load with another number of ranks: refused without the options, and
    with them written in torch's form that stock loads, in any stage."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    through_universal: bool = False

    @property
    def name(self):
        by = " through universal" if self.through_universal else ""
        return f"elastic {self.setup.name} {self.before}->{self.engine.name} {self.after}{by}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        refused = context.tool.call("reshard", source.folder, target, "-w", self.after, expect=6)
        if "--optimizer-option" not in refused["hint"]:
            raise checks.Failure(f"the refusal names no way: {refused}")
        folder, options = source.folder, named_options(self.setup)
        if self.through_universal:
            folder = context.target(f"{self.name} on the way")
            context.tool.convert(source.folder, folder, *options)
            options = []
        context.tool.reshard(folder, target, self.after, *stage_options(self.engine), *options)
        if not context.tool.call("verify", target)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        tensors = checks.same_state(source.state, state)
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.engine.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


ELASTIC = Setup(2, "bf16", elastic=True)


def short_run():
    return [Elastic(ELASTIC, 2, replace(ELASTIC, elastic=False), 3)]


def full_run():
    first = Setup(1, "fp32", elastic=True)
    sgd = Setup(2, "fp32", "sgd", elastic=True)
    return [
        *short_run(),
        Elastic(ELASTIC, 2, ELASTIC, 3),
        Elastic(ELASTIC, 2, Setup(3, "bf16", sub_group_size=200), 3),
        Elastic(ELASTIC, 2, Setup(1, "bf16"), 3, through_universal=True),
        Elastic(first, 3, replace(first, elastic=False), 2),
        Elastic(sgd, 2, replace(sgd, elastic=False), 3),
        Elastic(Setup(2, "fp32", "lion", elastic=True), 2, Setup(2, "fp32", "lion"), 3),
        Elastic(Setup(2, "bf16", "cpuadam", offload=True, elastic=True), 2, Setup(2, "bf16", "cpuadam", offload=True), 3),
        Elastic(Setup(2, "bf16", "fusedadam", elastic=True), 2, Setup(2, "bf16", "fusedadam"), 3),
    ]
