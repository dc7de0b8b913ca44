# SPDX-License-Identifier: Apache-2.0
"""Runs with their optimizer state, and weights on request, in swap files: DeepSpeed's NVMe offload, on any folder."""

from dataclasses import dataclass, replace
from pathlib import Path

from compare import live_state
from runs import ranks
from runs.setups import Setup
from runs.sources import CLIENT_STATE, STEPS_AFTER, STEPS_BEFORE, Source, mean_losses

# From 1 MiB of fp32 per rank on a sub-group is swapped: the matrices' are at one rank and at two, those of the
# embeddings and of everything small are not.
SHAPE = (("vocabulary", 32), ("width", 256), ("heads", 4), ("layers", 2))
SETUP = Setup(3, "bf16", shape=SHAPE, sub_group_size=300000, rate=0.1)
# In bf16 this model's losses differ by 3e-4 between numbers of ranks, also without saving; in fp32 only by rounding.
FP32_SETUP = replace(SETUP, precision="fp32")
# An embedding so large that each of two ranks also swaps its part of the 16-bit weights: 1 MiB is the minimum.
LARGE_SETUP = replace(SETUP, shape=(("vocabulary", 4096), *SHAPE[1:]))
# More sub-groups than pinned buffers, so that those in the optimizer file have held other sub-groups since.
STALE_SETUP = replace(SETUP, shape=(*SHAPE[:3], ("layers", 5)))


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


STALE = Offload("cpu", "nvme", True)


def train_and_save(rank, world, setup, offload, folder, swap_folder, before, after):
    from runs.training import build_engine, train
    engine = build_engine(setup, world, zero_options=offload.options(swap_folder))
    train(engine, rank, world, 0, before, shape=setup.shape)
    engine.save_checkpoint(folder, client_state=dict(CLIENT_STATE))
    optimizer = engine.optimizer
    swapped = [group for group in range(len(optimizer.fp16_groups)) if optimizer._swappable_optimizer_subgroup(group)]
    names = [engine.param_names[parameter] for group in swapped for parameter in optimizer.fp16_groups[group]]
    state = live_state.local_state(engine, rank)
    losses = train(engine, rank, world, before, after, shape=setup.shape)
    return state, swapped, losses, names, live_state.local_state(engine, rank)


def load(rank, world, offload, folder, swap_folder):
    """The state of an engine that resumes with offload, as stock DeepSpeed does it."""
    from runs.training import build_engine
    engine = build_engine(SETUP, world, seed=99, zero_options=offload.options(swap_folder))
    engine.load_checkpoint(folder)
    return live_state.local_state(engine, rank)


@dataclass
class SwappedSource(Source):
    swap_folder: Path
    swapped: list  # numbers of the sub-groups in swap files
    swapped_names: list  # of their parameters
    ended: dict  # the state at the end of the run, as in the swap folder


def made(context, offload, world, setup=SETUP, trains_on=True):
    """Trains and saves, once. If it does not continue, the swap folder stays in the state of the save."""
    key = (setup, offload, world, trains_on)
    if key not in context.swapped:
        folder = context.work / "nvme" / f"{len(context.swapped) + 1:03}"
        swap_folder = folder / "swap"
        swap_folder.mkdir(parents=True)
        parts = ranks.run_ranks(world, train_and_save, setup, offload, str(folder / "run"), str(swap_folder),
                                STEPS_BEFORE, STEPS_AFTER if trains_on else 0, log_path=context.sources.log)
        states, swapped, losses, names, ended = zip(*parts)
        context.swapped[key] = SwappedSource(folder / "run", live_state.merge(states), mean_losses(losses), swap_folder,
                                             swapped[0], names[0], live_state.merge(ended))
    return context.swapped[key]


def stale_tensors(source):
    """Addresses of the optimizer files' tensors whose elements are not those of the swap file with their id."""
    import torch
    tag = source.folder / (source.folder / "latest").read_text()
    stale = set()
    for path in tag.glob("*optim_states.pt"):
        rank = int(path.name.partition("pp_rank_")[2].partition("_")[0])
        wrapper = torch.load(path, weights_only=False, map_location="cpu")["optimizer_state_dict"]
        for group in source.swapped:
            tensors = {"fp32": wrapper["fp32_flat_groups"][group], **wrapper["optimizer_state_dict"]["state"][group]}
            for state, tensor in tensors.items():
                if tensor.dim() != 1 or tensor.numel() == 0:
                    continue
                raw = (tag / "offloaded_tensors" / f"rank{rank:02}" / f"{tensor.ds_id}.tensor.swp").read_bytes()
                if raw[:4 * tensor.numel()] != tensor.detach().numpy().tobytes():
                    stale.add(f"dp{rank}.tp0.pp0/subgroup{group}+0:{tensor.numel()}@{state}")
    return stale
