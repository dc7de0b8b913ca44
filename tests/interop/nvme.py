# SPDX-License-Identifier: Apache-2.0
"""Runs whose optimizer state, and weights where asked, lie in swap files: DeepSpeed's NVMe offload, on any folder."""

from dataclasses import dataclass
from pathlib import Path

import live_state
import ranks
from setups import Setup
from sources import CLIENT_STATE, STEPS_AFTER, STEPS_BEFORE, Source, mean_losses

# From 1 MiB of fp32 per rank on a sub-group is swapped: the matrices' are at one rank and at two, those of the
# embeddings and of everything small are not.
SHAPE = (("vocabulary", 32), ("width", 256), ("heads", 4), ("layers", 2))
SETUP = Setup(3, "bf16", shape=SHAPE, sub_group_size=300000)


@dataclass(frozen=True)
class Offload:
    weights: str  # cpu or nvme
    optimizer: str
    pipelined: bool = False

    @property
    def name(self):
        return f"{self.weights}/{self.optimizer}" + (" pipelined" if self.pipelined else "")

    def options(self, folder):
        def device(kind, **more):
            return {"device": kind, **({"nvme_path": str(folder)} if kind == "nvme" else {}), **more}
        pipeline = {"pipeline_read": True, "pipeline_write": True} if self.pipelined else {}
        return {
            "offload_optimizer": device(self.optimizer, buffer_count=12 if self.pipelined else 4, **pipeline),
            "offload_param": device(self.weights, buffer_count=8, buffer_size=1000000, max_in_cpu=0),
        }


def is_swapped(engine, group):
    return engine.optimizer._swappable_optimizer_subgroup(group)


def train_and_save(rank, world, offload, folder, swap_folder, before, after):
    from training import build_engine, train
    engine = build_engine(SETUP, world, zero_options=offload.options(swap_folder))
    train(engine, rank, world, 0, before, shape=SETUP.shape)
    engine.save_checkpoint(folder, client_state=dict(CLIENT_STATE))
    swapped = [group for group in range(len(engine.optimizer.fp16_groups)) if is_swapped(engine, group)]
    state = live_state.local_state(engine, rank)
    return state, swapped, [] if after == 0 else train(engine, rank, world, before, after, shape=SETUP.shape)


@dataclass
class SwappedSource(Source):
    swap_folder: Path
    swapped: list  # numbers of the sub-groups that lie in swap files


def make(context, offload, world, trains_on=True):
    """Trains and saves. Where it does not train on, the swap folder stays what it was at the save."""
    folder = context.target(f"nvme source {offload.name} w{world} {trains_on}")
    swap_folder = folder / "swap"
    swap_folder.mkdir(parents=True)
    parts = ranks.run_ranks(world, train_and_save, offload, str(folder / "run"), str(swap_folder), STEPS_BEFORE,
                            STEPS_AFTER if trains_on else 0, log_path=context.sources.log)
    states, swapped, losses = zip(*parts)
    return SwappedSource(folder / "run", live_state.join(states), mean_losses(losses), swap_folder, swapped[0])
