# SPDX-License-Identifier: Apache-2.0
"""A training loop with Accelerate that knows nothing of Shardscope: accelerate_script.py STAGE OUTPUT STEPS. Goes on where
OUTPUT has a state, until that step."""

import hashlib
import json
import os
import random
import sys

import numpy
import torch
from accelerate import Accelerator, DataLoaderConfiguration, DeepSpeedPlugin, skip_first_batches
from accelerate.utils import InitProcessGroupKwargs

GLOBAL_BATCH = 6


class Points(torch.utils.data.Dataset):
    """Its batches are made by another process, which imports this script again."""

    def __init__(self):
        generator = torch.Generator().manual_seed(5)
        self.points = torch.randn(4 * GLOBAL_BATCH, 12, generator=generator)
        self.values = torch.randn(4 * GLOBAL_BATCH, 1, generator=generator)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index], self.values[index]


class Progress:
    """Which step comes next; saved with the rest."""

    def __init__(self):
        self.step = 0

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]


def random_states():
    states = torch.random.get_rng_state().numpy().tobytes(), random.getstate(), numpy.random.get_state()
    return hashlib.sha256(repr(states).encode()).hexdigest()


def main(stage, output, steps):
    zero = {"stage": int(stage)}
    if zero["stage"] == 3:
        zero.update(stage3_param_persistence_threshold=10, sub_group_size=300)
    config = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1, "gradient_clipping": 1.0,
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False, "zero_optimization": zero}
    # A batch is split among the processes, so that the schedule advances once in each step, however many there are.
    accelerator = Accelerator(
        deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=config),
        dataloader_config=DataLoaderConfiguration(split_batches=True, use_seedable_sampler=True, data_seed=3),
        kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
    torch.manual_seed(17)
    model = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9 ** min(step, 8))
    loader = torch.utils.data.DataLoader(Points(), GLOBAL_BATCH, shuffle=True, num_workers=1,
                                         multiprocessing_context="spawn")
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    if os.path.isdir(output):
        newest = max(os.listdir(output), key=lambda name: int(name.split("-")[1]))
        accelerator.load_state(os.path.join(output, newest))
    first, losses = random_states(), {}
    while progress.step < int(steps):
        epoch, done = divmod(progress.step, len(loader))
        loader.set_epoch(epoch)
        for points, values in skip_first_batches(loader, done) if done else loader:
            loss = (model(points) - values).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            progress.step += 1
            losses[progress.step] = accelerator.gather(loss.detach()).mean().item()
            if progress.step == int(steps):
                break
    for _ in range(accelerator.process_index + 1):
        random.random()
        numpy.random.rand()
        torch.rand(1)
    accelerator.save_state(os.path.join(output, f"step-{progress.step}"))
    print("\nresult", json.dumps({"losses": losses, "first": first, "saved": random_states()}), flush=True)
    os._exit(0)  # without gloo's destructors, which can wait for other ranks


if __name__ == "__main__":
    main(*sys.argv[1:])
