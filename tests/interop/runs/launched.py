# SPDX-License-Identifier: Apache-2.0
"""A training script as users start it: launched.py RUN FOUND STEPS [KILLED_AT].

Resumes from FOUND unless it is empty, trains to STEPS on the same global batches whatever the number of ranks, saves
every second step into RUN, and prints the loss of the whole batch. With KILLED_AT the last rank kills itself in that
step, as a node that is taken away.
"""

import os
import signal
import sys

import deepspeed
import torch

BATCH = 12
CONFIG = {
    "zero_allow_untested_optimizer": True,
    "zero_optimization": {"stage": 2},
    "steps_per_print": 1000000,
}


def batch_of(step):
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, 8, generator=generator)
    return inputs, inputs.sum(dim=1, keepdim=True).sin()


def main(run, found, steps, killed_at):
    deepspeed.init_distributed(dist_backend="gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    config = {**CONFIG, "train_micro_batch_size_per_gpu": BATCH // world}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    if found:
        engine.load_checkpoint(found)
        if rank == 0:
            print(f"resumed at {engine.global_steps}", flush=True)
    while engine.global_steps < steps:
        step = engine.global_steps + 1
        if step == killed_at and rank == world - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs, wanted = (rows.chunk(world)[rank].to(engine.device) for rows in batch_of(step))
        loss = torch.nn.functional.mse_loss(engine(inputs), wanted)
        engine.backward(loss)
        engine.step()
        whole = loss.detach().clone()
        torch.distributed.all_reduce(whole)
        if rank == 0:
            print(f"step {step} loss {whole.item() / world:.9f}", flush=True)
        if step % 2 == 0:
            engine.save_checkpoint(run)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0)
