# SPDX-License-Identifier: Apache-2.0
"""Pipeline stages, experts and tensor slices, rewritten for another number of data-parallel ranks."""

from dataclasses import dataclass

import checks
import live_state
import ranks
from sources import STEPS_AFTER, STEPS_BEFORE, Source, mean_losses

_made = {}


def train_and_save(rank, world, setup, folder):
    import parallel_training
    engine = parallel_training.build_engine(setup, world)
    parallel_training.train(engine, setup, rank, world, 0, STEPS_BEFORE)
    engine.save_checkpoint(folder)
    state = parallel_training.local_state(engine, setup, rank, world)
    return state, parallel_training.train(engine, setup, rank, world, STEPS_BEFORE, STEPS_AFTER)


def load_and_train(rank, world, setup, folder):
    import parallel_training
    # Another seed: whatever the load leaves out shows.
    engine = parallel_training.build_engine(setup, world, seed=99)
    path, _ = engine.load_checkpoint(folder)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    state = parallel_training.local_state(engine, setup, rank, world)
    return state, parallel_training.train(engine, setup, rank, world, STEPS_BEFORE, STEPS_AFTER)


def _source(context, setup, world):
    key = (context.work, setup, world)
    if key not in _made:
        folder = context.work / "sources" / f"parallel-{setup.name}-w{world}"
        states, losses = zip(*ranks.run_ranks(world, train_and_save, setup, str(folder), log_path=context.sources.log))
        _made[key] = Source(folder, live_state.join(states), mean_losses(losses))
    return _made[key]


@dataclass(frozen=True)
class ParallelReshard:
    """As Reshard: the state is the same bit for bit on whoever holds it, and losses go on alike."""
    setup: object
    before: int  # all ranks
    after: int
    options: tuple = ()

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = _source(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, *self.options)
        states, losses = zip(*ranks.run_ranks(self.after, load_and_train, self.setup, str(target),
                                              log_path=context.sources.log))
        tensors = checks.same_state(source.state, live_state.join(states))
        checks.same_trust(source.folder, target)
        deviation = checks.losses_track(source.losses, mean_losses(losses), checks.TOLERANCE[self.setup.precision])
        verified = context.tool.call("verify", target, "--against", source.folder)
        if not verified["ok"]:
            raise checks.Failure(f"verify finds other values than the source's: {verified['problems']}")
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class ParallelRoundTrip:
    """There and back gives the bytes of our own rewrite, whose tensors are the source's."""
    setup: object
    before: int
    between: int

    @property
    def name(self):
        return f"parallel round trip {self.setup.name} {self.before}->{self.between}->{self.before}"

    def run(self, context):
        source = _source(context, self.setup, self.before)
        rewrite, there, back = (context.target(f"{self.name} {part}") for part in ("rewrite", "there", "back"))
        context.tool.reshard(source.folder, rewrite, self.before)
        context.tool.reshard(source.folder, there, self.between)
        context.tool.reshard(there, back, self.before)
        files = checks.same_files(rewrite, back)
        tensors = checks.same_payload(source.folder, rewrite)
        return f"{files} files byte-equal, {tensors} tensors equal to the source's"
