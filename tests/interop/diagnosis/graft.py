# SPDX-License-Identifier: Apache-2.0
"""Repairs that take values from other places: lost weights are grafted, and values that DeepSpeed's converter stored
in a wrong order are sorted. Both load in unmodified DeepSpeed, bit for bit."""

from dataclasses import dataclass, replace

from cases import parallel, stock
from compare import checks, live_state
from diagnosis.doctor import damaged_copy, damages, find, repair, resumes_as
from runs import ranks, sources, universal
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup


@dataclass(frozen=True)
class Grafted:
    """Lost frozen parameters and buffers, from another checkpoint of the run or from its exported weights."""
    setup: Setup
    before: int
    damage: str
    code: str
    weights: bool = False

    @property
    def name(self):
        return f"doctor graft {self.damage} {self.setup.name} {self.before}{' weights' if self.weights else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = damaged_copy(context, source, self.name, getattr(damages, self.damage))
        find(context, folder, self.code)
        donor = context.target(f"{self.name} other")
        if self.weights:
            context.tool.call("export", source.folder, donor, "--format", "safetensors")
        else:
            context.tool.reshard(source.folder, donor, self.before + 1)
        target = context.target(self.name)
        if not repair(context, folder, self.code, target, "--from", donor):
            raise checks.Failure("what came from elsewhere is not marked")
        return f"found, grafted, {resumes_as(context, self.setup, self.before, target, source)}"


@dataclass(frozen=True)
class Unscrambled:
    """A universal folder that DeepSpeed's converter made of a round-robin run: after the repair it has the run's
    fingerprint, and loads like one that was converted correctly. (An engine with round_robin_gradients on scrambles any
    such folder.)"""
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
        if repair(context, scrambled, "universal-from-round-robin", target):
            raise checks.Failure("something is marked, though nothing was made up")
        prints = [context.tool.call("fingerprint", folder)["fingerprint"] for folder in (source.folder, target)]
        if prints[0] != prints[1]:
            raise checks.Failure(f"the fingerprint is {prints[1]}, and that of the source {prints[0]}")
        resumed = universal.resume(context, self.engine, self.after, target)
        changes = universal.stock_changes(source.state, self.setup, self.engine)
        tensors = checks.same_state_but(source.state, resumed.state, changes)
        deviation = checks.losses_track(source.losses, resumed.losses, checks.TOLERANCE[self.engine.precision])
        return f"found, in order again, {tensors} tensors bit-equal, loss deviation {deviation:.1e}"


# A frozen table many times as large as the trained parameters; sequences keep their length.
LARGE_BASE = (("positions", 2048),)
TABLE_BYTES = 2048 * 16 * 2


def train_with_base(rank, world, setup, folder, before, after):
    """Saves twice; the state at the second save, and the losses of the steps after it."""
    from runs.training import build_engine, train
    engine = build_engine(setup, world)
    train(engine, rank, world, 0, before - 1)
    engine.save_checkpoint(folder, client_state=dict(sources.CLIENT_STATE))
    train(engine, rank, world, before - 1, 1)
    engine.save_checkpoint(folder, client_state=dict(sources.CLIENT_STATE))
    state = live_state.local_state(engine, rank)
    return state, train(engine, rank, world, before, after)


def load_over_base(rank, world, setup, folder, before, after):
    from runs.training import build_engine, train
    engine = build_engine(setup, world, seed=99, frozen_seed=17)
    path, _ = engine.load_checkpoint(folder, load_module_strict=False)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    state = live_state.local_state(engine, rank)
    return state, train(engine, rank, world, before, after)


@dataclass(frozen=True)
class Stripped:
    """A frozen base that every tag repeats, left out of a copy: loaded over the base model, nothing is lost."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"doctor strip frozen_bloat {self.setup.name} {self.before}"

    def run(self, context):
        folder = context.target(f"{self.name} source")
        steps = (sources.STEPS_BEFORE, sources.STEPS_AFTER)
        state, losses = self._merged(ranks.run_ranks(self.before, train_with_base, self.setup, str(folder), *steps,
                                                     log_path=context.sources.log))
        target = context.target(self.name)
        find(context, folder, "frozen-bloat", note=True)
        if repair(context, folder, "frozen-bloat", target):
            raise checks.Failure("something is marked, though nothing was made up")
        resumed, after = self._merged(ranks.run_ranks(self.before, load_over_base, self.setup, str(target), *steps,
                                                      log_path=context.sources.log))
        tensors = checks.same_state(state, resumed)
        deviation = checks.losses_track(losses, after, 0.0)
        sizes = [self._bytes(path / (path / "latest").read_text()) for path in (folder, target)]
        if sizes[0] - sizes[1] < TABLE_BYTES:
            raise checks.Failure(f"{sizes[0]} bytes became {sizes[1]}")
        return f"{sizes[0]} bytes became {sizes[1]}, {tensors} tensors bit-equal, loss deviation {deviation:.1e}"

    @staticmethod
    def _merged(parts):
        states, losses = zip(*parts)
        return live_state.merge(states), sources.mean_losses(losses)

    @staticmethod
    def _bytes(tag):
        return sum(path.stat().st_size for path in tag.glob("*_states.pt"))


@dataclass(frozen=True)
class Informed:
    """The key that DeepSpeed's converter requires, added on a copy."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"doctor add universal_info {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        failure = stock.must_fail("universal_checkpoint_info state is missing", universal.stock_convert, context,
                                        source.folder, context.target(f"{self.name} refused"), False)
        target = context.target(self.name)
        if repair(context, source.folder, "universal-info-missing", target):
            raise checks.Failure("something is marked, though nothing was made up")
        same = resumes_as(context, self.setup, self.before, target, source)
        converted = context.target(f"{self.name} converted")
        universal.stock_convert(context, target, converted, False)
        both = [context.tool.call("fingerprint", folder)["fingerprint"] for folder in (source.folder, converted)]
        if both[0] != both[1]:
            raise checks.Failure(f"the converted fingerprint is {both[1]}, and that of the source {both[0]}")
        return f"before: {failure[:60]}; after: converts, {same}"


@dataclass(frozen=True)
class Skipped:
    """Parameters that DeepSpeed's converter skips: their moments come from another universal folder of the run, and
    their masters stay rounded to the copies."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"doctor fill skipped {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = universal.make_universal(context, "stock", source.folder, self.name)
        zero = folder / (folder / "latest_universal").read_text() / "zero"
        lost = {f"{entry.name}#fp32": checks.ANY for entry in zero.iterdir()
                if f"{entry.name}#exp_avg" in source.state and not (entry / "exp_avg.pt").exists()}
        find(context, folder, "universal-parameter-skipped")
        donor = universal.make_universal(context, "ours", source.folder, f"{self.name} donor")
        target = context.target(self.name)
        if not repair(context, folder, "universal-parameter-skipped", target, "--from", donor, "--moments", "donor"):
            raise checks.Failure("what came from elsewhere is not marked")
        resumed = universal.resume(context, self.setup, self.after, target)
        changes = universal.stock_changes(source.state, self.setup, self.setup)
        tensors = checks.same_state_but(source.state, resumed.state, changes | lost)
        return f"found, {len(lost)} filled, the other {tensors - len(lost)} tensors bit-equal"


@dataclass(frozen=True)
class Shortened:
    """Files of a universal folder that are longer than their parameter, which stock DeepSpeed does not load."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"doctor repair universal_overlong {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = universal.make_universal(context, "stock", source.folder, self.name)
        damages.universal_overlong(folder / (folder / "latest_universal").read_text())
        find(context, folder, "universal-overlong")
        target = context.target(self.name)
        if repair(context, folder, "universal-overlong", target):
            raise checks.Failure("something is marked, though nothing was lost")
        resumed = universal.resume(context, self.setup, self.after, target)
        changes = universal.stock_changes(source.state, self.setup, self.setup)
        return f"found, repaired, {checks.same_state_but(source.state, resumed.state, changes)} tensors bit-equal"


@dataclass(frozen=True)
class LostExperts:
    """Lost files of experts' weights, rebuilt from the masters."""
    setup: object
    before: int

    @property
    def name(self):
        return f"doctor repair expert_missing {self.setup.name} {self.before}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.before)
        folder = damaged_copy(context, source, self.name, damages.expert_missing)
        find(context, folder, "moe-incomplete")
        target = context.target(self.name)
        if repair(context, folder, "moe-incomplete", target):
            raise checks.Failure("something is marked, though nothing was lost")
        return parallel.continues_as(context, self.setup, self.before, target, source, source.state)


SCRAMBLED = [replace(Setup(stage, precision, round_robin=True), shape=(universal.PLAIN_NAMES,))
             for stage, precision in ((2, "bf16"), (1, "fp32"), (2, "fp16"))]
LOST = [("frozen_missing", "frozen-lost"), ("buffer_missing", "buffers-lost")]


def short_run():
    return [Grafted(Setup(3, "bf16", sub_group_size=200), 2, *LOST[0]),
            Unscrambled(SCRAMBLED[0], 3, replace(SCRAMBLED[0], round_robin=False), 2)]


def full_run():
    cases = [Grafted(setup, 3, *lost, weights) for lost in LOST for weights in (False, True)
             for setup in (Setup(2, "bf16"), Setup(2, "fp16"), Setup(3, "bf16", sub_group_size=200), Setup(3, "fp32"))]
    cases += [Grafted(Setup(1, "bf16"), 3, *LOST[1]), Grafted(Setup(1, "bf16", bf16_optimizer=True), 3, *LOST[1])]
    cases += [Unscrambled(setup, before, replace(setup, round_robin=False), after) for setup in SCRAMBLED
              for before, after in ((3, 2), (2, 3), (4, 1))]
    cases += [Stripped(replace(setup, shape=LARGE_BASE), 2)
              for setup in (Setup(1, "bf16"), Setup(2, "bf16"), Setup(3, "bf16", sub_group_size=200))]
    cases += [Skipped(setup, 3, 2) for setup in (Setup(2, "bf16"), Setup(1, "fp16"))]
    cases += [Shortened(replace(setup, shape=(universal.PLAIN_NAMES,)), 3, 2)
              for setup in (Setup(2, "bf16"), Setup(1, "fp32"))]
    cases += [LostExperts(ParallelSetup("experts", stage, precision), 4)
              for stage, precision in ((2, "bf16"), (1, "fp32"), (2, "fp16"))]
    cases += [Informed(replace(setup, shape=(universal.PLAIN_NAMES,)), 3)
              for setup in (Setup(1, "fp32"), Setup(2, "bf16"), Setup(2, "fp16"))]
    return cases
