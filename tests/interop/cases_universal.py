# SPDX-License-Identifier: Apache-2.0
"""Universal folders on the way from and to native checkpoints, with unmodified DeepSpeed at the far end."""

import shutil
from dataclasses import dataclass

import checks
import universal
from setups import Setup
from sources import STEPS_AFTER


def stage_options(setup):
    options = ["--stage", setup.stage]
    return [*options, "--sub-group-size", setup.sub_group_size] if setup.sub_group_size else options


@dataclass(frozen=True)
class UniversalToEngine:
    """One universal folder, loaded in unmodified DeepSpeed: all that its loader can restore is equal bit for bit, and
    what it leaves out or mixes up is that and nothing else."""
    setup: Setup
    before: int
    engines: tuple  # of Setup
    after: int
    route: str = "ours"

    @property
    def name(self):
        return f"universal {self.route} {self.setup.name} g{self.setup.groups} {self.before}->" + \
            f"{'+'.join(engine.name for engine in self.engines)} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = universal.make_universal(context, self.route, source.folder, self.name)
        notes = []
        for engine in self.engines:
            try:
                notes.append(self._judge(context, source, folder, engine))
            except checks.Failure as failure:
                raise checks.Failure(f"{engine.name}: {failure}") from None
        return ", ".join(notes)

    def _judge(self, context, source, folder, engine):
        resumed = universal.resume(context, engine, self.after, folder)
        changes = universal.stock_changes(source.state, self.setup, engine)
        tensors = checks.same_state_but(source.state, resumed.state, changes)
        checks.same_client_state(resumed.client)
        self._same_steps(source.state, resumed, engine)
        if resumed.sub_groups > 1:
            return f"stage {engine.stage}: {tensors} tensors bit-equal, and DeepSpeed's own {len(changes)} changes"
        deviation = checks.losses_track(source.losses, resumed.losses, checks.TOLERANCE[engine.precision])
        return f"stage {engine.stage}: {tensors} tensors bit-equal, loss deviation {deviation:.1e}"

    def _same_steps(self, state, resumed, engine):
        """ZeRO-3 hands one step to all sub-groups: a tensor, as torch's optimizers keep it, then counts for each."""
        shared = resumed.sub_groups > 1 and engine.optimizer == "adamw"
        expected = universal.steps_after(state, STEPS_AFTER * (resumed.sub_groups if shared else 1))
        wrong = [label for label, value in expected.items() if resumed.end[label] != value]
        if wrong:
            raise checks.Failure(f"{STEPS_AFTER} steps on, {wrong[0]} is {resumed.end[wrong[0]]}, not {expected[wrong[0]]}")


@dataclass(frozen=True)
class UniversalToNative:
    """A universal folder, resharded to a native checkpoint of any stage: the source's whole state is back."""
    setup: Setup
    before: int
    native: Setup
    after: int
    route: str = "ours"
    beside: bool = False  # the folder lies beside the native tag that it was made of, and is named itself

    @property
    def name(self):
        return f"universal {self.route} {self.setup.name} g{self.setup.groups} {self.before}->native " + \
            f"{self.native.name} {self.after}{' beside' if self.beside else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        if self.beside:
            folder = shutil.copytree(source.folder, context.target(f"{self.name} run"))
            universal.stock_convert(context, folder, folder)
            folder = folder / (folder / "latest_universal").read_text()
        else:
            folder = universal.make_universal(context, self.route, source.folder, self.name)
        target = context.target(self.name)
        context.tool.reshard(folder, target, self.after, *stage_options(self.native))
        if not context.tool.call("verify", target)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.native, self.after, target)
        tensors = checks.same_state_but(source.state, state, universal.scaler_changes(self.setup, self.native))
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.native.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"
