# SPDX-License-Identifier: Apache-2.0
"""Plain DeepSpeed: resume on any number of ranks. Start it with a launcher, with any number of processes.

    deepspeed --num_gpus 4 deepspeed_plain.py RUN
    deepspeed --num_gpus 2 deepspeed_plain.py RUN

On CPUs, EXAMPLE_BACKEND=gloo in the environment.
"""

import os
import sys

import deepspeed  # type: ignore[import-untyped]
import torch

import shardscope

STEPS = 4


def main(run: str) -> None:
    deepspeed.init_distributed(dist_backend=os.environ.get("EXAMPLE_BACKEND"))
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    config = {
        "train_micro_batch_size_per_gpu": 12 // world_size,
        "bf16": {"enabled": True},
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": 2},
        "steps_per_print": 1000000,
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    dtype = next(engine.parameters()).dtype
    # On every rank: one makes a copy, the others wait. There is no folder before the first start.
    found = shardscope.ensure(run, world_size=world_size, missing_ok=True)
    if found:
        engine.load_checkpoint(found)
    for _ in range(STEPS):
        inputs = torch.randn(12 // world_size, 8, device=engine.device, dtype=dtype)
        loss = engine(inputs).square().mean()
        engine.backward(loss)
        engine.step()
    engine.save_checkpoint(run, tag=f"global_step{engine.global_steps}")
    torch.distributed.barrier()
    if rank == 0:
        errors = [one for one in shardscope.check(run).results[0].findings or [] if one.severity == "error"]
        print(f"step {engine.global_steps} on {world_size} ranks, {len(errors)} errors in the checkpoint")


if __name__ == "__main__":
    main(next(word for word in sys.argv[1:] if not word.startswith("--")))
