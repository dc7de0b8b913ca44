# SPDX-License-Identifier: Apache-2.0
"""Runs that are never resharded: each is trained once, saved, and continued. All cases share it."""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from compare import live_state
from runs import ranks

STEPS_BEFORE = 5
STEPS_AFTER = 4
RUNS_AT_MOST = 8
POISONED = (1, 3)
CLIENT_STATE = {"iteration": STEPS_BEFORE, "note": "größe", "nested": {"seed": 17, "rate": 0.1}}


@dataclass
class Source:
    folder: Path
    state: dict  # everything at the moment of the save
    losses: list  # of the steps after it


def mean_losses(per_rank):
    return [sum(step) / len(step) for step in zip(*per_rank)]


def train_and_save(rank, world, setup, folder, before, after):
    from runs.training import build_engine, train
    engine = build_engine(setup, world)
    train(engine, rank, world, 0, before, poisoned=POISONED if setup.precision == "fp16" else (), shape=setup.shape)
    engine.save_checkpoint(folder, client_state=dict(CLIENT_STATE))
    state = live_state.local_state(engine, rank)
    return state, train(engine, rank, world, before, after, shape=setup.shape)


def load_and_train(rank, world, setup, folder, accumulation, before, after):
    from runs.training import build_engine, train
    # Another seed, so that values that the load leaves out differ.
    engine = build_engine(setup, world, accumulation, seed=99)
    path, client_state = engine.load_checkpoint(folder)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    state = live_state.local_state(engine, rank)
    losses = train(engine, rank, world, before, after, accumulation, shape=setup.shape)
    return state, losses, {key: client_state.get(key) for key in CLIENT_STATE}


class SourceFailure(RuntimeError):
    """Stock DeepSpeed produced nothing that a test can continue from."""


def _settled(setup, run):
    """What a stock run gives. ZeRO-3 with torch's Adafactor trains to NaN in some runs and not in others, from one
    seed: its norms include the uninitialised padding of a rank's shard. Only that is run again."""
    if (setup.stage, setup.optimizer) != (3, "adafactor"):
        return run()
    for _ in range(RUNS_AT_MOST):
        parts = run()
        if all(math.isfinite(loss) for part in parts for loss in part[1]):
            return parts
    raise SourceFailure(f"stock trains to NaN in {RUNS_AT_MOST} runs of {setup.name}")


class Sources:

    def __init__(self, work):
        self.work = work
        self.log = work / "ranks.log"
        self._made = {}

    def get(self, setup, world):
        key = (setup, world)
        if key not in self._made:
            # Numbered: a setup's name leaves out what seldom differs.
            folder = self.work / "sources" / f"{len(self._made) + 1:03}-{setup.name}-w{world}"
            parts = _settled(setup, lambda: self._train(setup, world, folder))
            states, losses = zip(*parts)
            self._made[key] = Source(folder, live_state.merge(states), mean_losses(losses))
        return self._made[key]

    def _train(self, setup, world, folder):
        shutil.rmtree(folder, ignore_errors=True)
        return ranks.run_ranks(world, train_and_save, setup, str(folder), STEPS_BEFORE, STEPS_AFTER, log_path=self.log)

    def resume(self, setup, world, folder, accumulation=1):
        """Loads a checkpoint in unmodified DeepSpeed: the state right after, the losses of the steps that follow."""
        parts = _settled(setup, lambda: ranks.run_ranks(
            world, load_and_train, setup, str(folder), accumulation, STEPS_BEFORE, STEPS_AFTER, log_path=self.log))
        states, losses, clients = zip(*parts)
        return live_state.merge(states), mean_losses(losses), clients[0]
