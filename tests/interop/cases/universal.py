# SPDX-License-Identifier: Apache-2.0
"""Universal folders from and to native checkpoints, loaded by unmodified DeepSpeed."""

import shutil
from dataclasses import dataclass

import torch

from compare import checks, live_state
from runs import universal
from runs.setups import Setup
from runs.sources import STEPS_AFTER


def stage_options(setup):
    options = ["--stage", setup.stage]
    return [*options, "--sub-group-size", setup.sub_group_size] if setup.sub_group_size else options


@dataclass(frozen=True)
class UniversalToEngine:
    """One universal folder, loaded in unmodified DeepSpeed: everything that its loader can restore is equal bit for
    bit, and only known values are left out or wrong."""
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
        expected = self.expected_losses(context, source, engine)
        deviation = checks.losses_track(expected, resumed.losses, checks.TOLERANCE[engine.precision])
        return f"stage {engine.stage}: {tensors} tensors bit-equal, loss deviation {deviation:.1e}"

    def expected_losses(self, context, source, engine):
        return source.losses

    def _same_steps(self, state, resumed, engine):
        """ZeRO-3 hands one step to all sub-groups: a tensor, as torch's optimizers keep it, then counts for each."""
        shared = resumed.sub_groups > 1 and engine.optimizer == "adamw"
        expected = universal.steps_after(state, STEPS_AFTER * (resumed.sub_groups if shared else 1))
        wrong = [label for label, value in expected.items() if resumed.end[label] != value]
        if wrong:
            raise checks.Failure(f"{STEPS_AFTER} steps on, {wrong[0]} is {resumed.end[wrong[0]]}, "
                                 f"not {expected[wrong[0]]}")


@dataclass(frozen=True)
class UniversalToNative:
    """A universal folder, resharded to a native checkpoint of any stage: the source's whole state is restored."""
    setup: Setup
    before: int
    native: Setup
    after: int
    route: str = "ours"
    next_to_native: bool = False  # the folder is next to the native tag that it was made of, and is named explicitly

    @property
    def name(self):
        return f"universal {self.route} {self.setup.name} g{self.setup.groups} {self.before}->native " + \
            f"{self.native.name} {self.after}{' next to it' if self.next_to_native else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        if self.next_to_native:
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


def _files(folder):
    """Parameter and state -> tensor or number of every file that DeepSpeed's loaders of a universal folder look for."""
    found = {}
    zero = folder / (folder / "latest_universal").read_text() / "zero"
    for path in zero.rglob("*.pt"):
        if path.name != "optimizer_state.pt":
            held = torch.load(path, weights_only=False)
            found[str(path.parent.relative_to(zero)), path.stem] = held["param"] if isinstance(held, dict) else held
    return found


@dataclass(frozen=True)
class LikeConverter:
    """Shardscope's converted folder compared with DeepSpeed's: equal in every state. Frozen parameters and buffers are
    in the model file, from which a training script can load them."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"universal files {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        stock, ours = (universal.make_universal(context, route, source.folder, self.name)
                       for route in ("stock", "ours"))
        verified = context.tool.call("verify", ours, "--against", source.folder)
        if not verified["ok"]:
            raise checks.Failure(f"verify says {verified['problems']}")
        expected, found = _files(stock), _files(ours)
        for key, value in expected.items():
            if f"{key[0]}#fp32" not in source.state:
                continue  # DeepSpeed writes buffers, frozen and tied parameters too, but never reads them
            other = found.get(key)
            # A ZeRO-3 folder of DeepSpeed's holds flat tensors.
            flat = other.reshape(value.shape) if torch.is_tensor(value) and other is not None else other
            if live_state.plain(flat) != live_state.plain(value):
                raise checks.Failure(f"{key[1]} of {key[0]} is not what DeepSpeed's converter writes")
        states = {key for key in found if key[1] != "step"}
        whole = {tuple(label.rsplit("#", 1)) for label, value in source.state.items() if isinstance(value, bytes)}
        if states != whole:
            raise checks.Failure(f"there are other states than those of the run: {sorted(states ^ whole)[:8]}")
        module = torch.load(ours / (ours / "latest_universal").read_text() / "mp_rank_00_model_states.pt",
                            weights_only=False)["module"]
        fixed = [label.removeprefix("weight ") for label in source.state if label.startswith("weight ")
                 and f"{label.removeprefix('weight ')}#fp32" not in source.state]
        wrong = [name for name in fixed
                 if live_state.plain(module[name]) != ("tensor", *source.state[f"weight {name}"])]
        if wrong:
            raise checks.Failure(f"the model file does not hold {wrong} as the run did")
        return f"{len(found)} files like those of DeepSpeed's converter, {len(fixed)} fixed tensors whole"
