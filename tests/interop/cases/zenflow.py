# SPDX-License-Identifier: Apache-2.0
"""ZenFlow, which up to 0.19.6 stores matrices column by column. The cases are valid for both orders: run.py --deepspeed
0.19.2 runs them in a release with the other one.

What stock's own resume loses (the selective optimizer's moments and columns, the count of its steps) makes losses differ
from those of the continued run; so a resharded run is compared with stock's own resume of the same checkpoint.
"""

import re
import subprocess
import sys
from dataclasses import dataclass, replace

import torch

from cases.basic import ComparisonItself, Folder, RoundTrip
from cases.old import same_as_noted
from cases.universal import UniversalToEngine, stage_options
from compare import checks
from runs import universal
from runs.golden import SAMPLES
from runs.setups import Setup

# One group, for the reason that golden.py gives for 0.19.2.
WARM = [Setup(stage, precision, "cpuadam", offload=True, zenflow="warm", groups=1)
        for stage in (1, 2) for precision in ("bf16", "fp32")]
ACTIVE = [Setup(stage, precision, "cpuadam", offload=True, zenflow="active", groups=1)
          for stage in (1, 2) for precision in ("bf16", "fp32")]
OLDER_SAMPLES = [(name, setup) for name, (_, setup, _) in SAMPLES["0.19.2"].items()]
# Columns are chosen per rank, so that the trained values depend on the number of ranks.
OTHER_COLUMNS = 2e-2


def without(setup, stage=None):
    """The same run with ZenFlow off."""
    return replace(setup, zenflow="", stage=setup.stage if stage is None else stage)


def in_columns(folder):
    """Whether the release that saved it stores matrices column by column."""
    model = torch.load(next(folder.glob("*/mp_rank_00_model_states.pt")), weights_only=False)
    return any(tensor.dim() == 2 and not tensor.is_contiguous() for tensor in model["module"].values())


@dataclass(frozen=True)
class OwnForm:
    """To another number of ranks with ZenFlow on: the state bit for bit, and the losses of stock's own resume."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"zenflow {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        checks.same_trust(source.folder, target)
        if not context.tool.call("verify", target, "--against", source.folder)["ok"]:
            raise checks.Failure("verify --against the source does not accept what reshard wrote")
        own, own_losses, _ = context.sources.resume(self.setup, self.before, source.folder)
        checks.same_state(source.state, own)
        state, losses, client = context.sources.resume(self.setup, self.after, target)
        tensors = checks.same_state(source.state, state)
        checks.same_client_state(client)
        same = self.before == self.after
        tolerance = checks.TOLERANCE[self.setup.precision]
        first = checks.losses_track(own_losses[:1], losses[:1], tolerance)
        rest = 0.0 if same else tolerance if self.setup.zenflow == "warm" else OTHER_COLUMNS
        deviation = checks.losses_track(own_losses, losses, rest)
        return f"{tensors} tensors bit-equal, first loss {first:.1e}, all {deviation:.1e} from stock's own resume"


@dataclass(frozen=True)
class LeftBehind:
    """Into a run without ZenFlow: masters and moments row by row, each bit at that run's position."""
    setup: Setup
    before: int
    engine: Setup
    after: int

    @property
    def name(self):
        return f"zenflow off {self.setup.name} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target, again = context.target(self.name), context.target(f"{self.name} again")
        options = stage_options(self.engine)
        if self.engine.stage in (1, 2) and in_columns(source.folder):
            options = (*options, "--row-major")
        context.tool.reshard(source.folder, target, self.after, *options)
        context.tool.reshard(source.folder, again, self.after, *options, "--jobs", 1)
        checks.same_files(target, again, ignore=())
        if not context.tool.call("verify", target, "--against", source.folder)["ok"]:
            raise checks.Failure("verify --against the source does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        tensors = checks.same_state_but(source.state, state, universal.scaler_changes(self.setup, self.engine))
        checks.same_client_state(client)
        # During warm-up ZenFlow does the same as AdamW, but 0.19.8 uses gradients of other elements.
        alike = self.setup.zenflow == "warm" and in_columns(source.folder)
        tolerance = checks.TOLERANCE[self.setup.precision] if alike else OTHER_COLUMNS
        deviation = checks.losses_track(source.losses, losses, tolerance)
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class Universal(UniversalToEngine):
    """Losses continue as from ordinary shards of the same state: ZenFlow's own differ (LeftBehind says why)."""

    def expected_losses(self, context, source, engine):
        target = context.target(f"{self.name} ordinary {engine.name}")
        context.tool.reshard(source.folder, target, self.after, *stage_options(engine))
        _, losses, _ = context.sources.resume(engine, self.after, target)
        return losses


@dataclass(frozen=True)
class StockIsWrong:
    """The reason for the plan's warning: stock DeepSpeed loads ZenFlow's files without ZenFlow silently, and
    transposed."""
    setup: Setup
    world: int

    @property
    def name(self):
        return f"zenflow {self.setup.name} {self.world} loaded without it"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        state, *_ = context.sources.resume(without(self.setup), self.world, source.folder)
        if not in_columns(source.folder):
            raise checks.Failure("this release stores rows, which any run loads")
        from compare import live_state
        wrong = [text for text in live_state.differences(source.state, state) if re.search("#(fp32|exp_avg):", text)]
        if not wrong:
            raise checks.Failure("stock loads it right")
        return f"{len(wrong)} tensors are other ones"


@dataclass(frozen=True)
class FromOlder:
    """A sample of a release that stores columns, written row by row: today's ZenFlow has what the older engine held."""
    sample: str
    setup: Setup
    after: int

    @property
    def name(self):
        return f"zenflow sample {self.sample} ->{self.after} cpuadam"

    def run(self, context):
        target = context.target(self.name)
        context.tool.reshard(context.samples / self.sample, target, self.after, "--row-major")
        state, losses, _ = context.sources.resume(self.setup, self.after, target)
        if not all(loss < 10 for loss in losses):
            raise checks.Failure(f"training on gives losses {losses}")
        return f"{same_as_noted(context.samples / self.sample, state)} tensors as noted by the engine that saved it"


@dataclass(frozen=True)
class InOlder:
    """The cases of both orders, in a release that stores columns."""
    version: str

    @property
    def name(self):
        return f"zenflow in DeepSpeed {self.version}"

    def run(self, context):
        command = [sys.executable, sys.argv[0], "--shardscope", str(context.tool.program), "--deepspeed", self.version,
                   "--only", "zenflow*zero"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if ended.returncode != 0:
            raise checks.Failure(f"{' '.join(command)} ended with {ended.returncode}\n{ended.stdout[-3000:]}")
        return ended.stdout.strip().rpartition("\n")[2]


def short_run():
    return [OwnForm(ACTIVE[2], 2, 3), LeftBehind(WARM[3], 3, without(WARM[3], 3), 2), FromOlder(*OLDER_SAMPLES[0], 3)]


def _both_orders():
    """What holds in every release."""
    cases = [OwnForm(setup, 2, 3) for setup in ACTIVE] + [OwnForm(setup, 3, 2) for setup in WARM]
    cases += [OwnForm(ACTIVE[2], 2, 2), OwnForm(WARM[3], 1, 4)]
    cases += [LeftBehind(ACTIVE[2], 2, without(ACTIVE[2]), 3), LeftBehind(ACTIVE[2], 3, without(ACTIVE[2], 1), 2)]
    # Stage 3 has no copies: copies that are ahead of the masters would be computed from the masters again.
    cases += [LeftBehind(WARM[3], 3, without(WARM[3], 3), 2), LeftBehind(WARM[3], 2, without(WARM[3]), 3),
              LeftBehind(WARM[0], 2, without(WARM[0], 2), 3)]
    return cases


def full_run():
    cases = _both_orders()
    cases += [RoundTrip(setup, 3, 2) for setup in (ACTIVE[2], WARM[1])]
    cases += [Folder(ACTIVE[2], 2, 3), ComparisonItself(ACTIVE[2], 3, 2)]
    cases += [FromOlder(*sample, after) for sample in OLDER_SAMPLES for after in (1, 3)]
    cases += [Universal(WARM[2], 2, (without(WARM[2]), without(WARM[2], 3)), 3)]
    return [*cases, InOlder("0.19.2")]


def in_older_run():
    """What run.py --deepspeed runs."""
    return [*_both_orders(), StockIsWrong(ACTIVE[2], 2)]
