# SPDX-License-Identifier: Apache-2.0
"""A training script with Lightning that knows nothing of Shardscope: lightning_script.py STAGE OUTPUT STEPS WORLD. Goes on
where OUTPUT has a checkpoint, until that step. Lightning starts the other processes itself."""

import json
import os
import sys

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy

GLOBAL_BATCH, STEPS_PER_EPOCH = 6, 3


class OnCpu(DeepSpeedStrategy):
    """DeepSpeedStrategy refuses other devices than GPUs of CUDA, and asks for their indices. All else is its own."""

    @property
    def root_device(self):
        return torch.device("cpu", self.local_rank)

    def setup_environment(self):
        DDPStrategy.setup_environment(self)

    def setup_distributed(self):
        self.set_world_ranks()
        self._init_deepspeed_distributed()


class Regression(LightningModule):

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
        self.losses = {}

    def training_step(self, batch, index):
        points, values = batch
        loss = (self.layers(points) - values).square().mean()
        self.losses[self.global_step + 1] = self.all_gather(loss.detach()).mean().item()
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2, weight_decay=0.1)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9 ** min(step, 8))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def main(stage, output, steps, world):
    seed_everything(17)
    generator = torch.Generator().manual_seed(5)
    count = GLOBAL_BATCH * STEPS_PER_EPOCH
    data = torch.utils.data.TensorDataset(torch.randn(count, 12, generator=generator),
                                          torch.randn(count, 1, generator=generator))
    loader = torch.utils.data.DataLoader(data, GLOBAL_BATCH // int(world), shuffle=True)
    config = {"zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
              "zero_optimization": {"stage": int(stage)}}
    if int(stage) == 3:
        config["zero_optimization"].update(stage3_param_persistence_threshold=10, sub_group_size=300)
    saving = ModelCheckpoint(output, filename="{step}", save_top_k=-1, every_n_epochs=1, save_on_train_epoch_end=True)
    trainer = Trainer(accelerator="cpu", devices=int(world), strategy=OnCpu(config=config, process_group_backend="gloo"),
                      max_epochs=int(steps) // STEPS_PER_EPOCH, gradient_clip_val=1.0, callbacks=[saving], logger=False,
                      enable_progress_bar=False, enable_model_summary=False)
    newest = None
    if os.path.isdir(output):
        found = (name for name in os.listdir(output) if name.endswith(".ckpt"))
        newest = max(found, key=lambda name: int(name[:-5].split("=")[1]), default=None)
    model = Regression()
    trainer.fit(model, loader, ckpt_path=newest and os.path.join(output, newest))
    # One write: the processes share their output.
    sys.stdout.write(f"\nresult {json.dumps({'losses': model.losses})}\n")
    sys.stdout.flush()
    trainer.strategy.barrier()
    os._exit(0)  # without gloo's destructors, which can wait for other ranks


if __name__ == "__main__":
    main(*sys.argv[1:])
