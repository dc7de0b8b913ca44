# SPDX-License-Identifier: Apache-2.0
"""Stock DeepSpeed on the ranks: build an engine, train, save, load."""

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator

from runs import setups
from runs.model import build_model, make_batch, split_parameters, take_frozen


class Lion(torch.optim.Optimizer):
    """Lion in plain torch: DeepSpeed's own needs a compiled op."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            fast, slow = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["exp_avg"] = torch.zeros_like(parameter)
                average = state["exp_avg"]
                update = (average * fast + parameter.grad * (1 - fast)).sign_()
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"])
                average.lerp_(parameter.grad, 1 - slow)


def _build_optimizer(kind, groups):
    if kind == "cpuadam":
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        return DeepSpeedCPUAdam(groups)
    if kind == "fusedadam":
        from deepspeed.ops.adam import FusedAdam
        return FusedAdam(groups)
    if kind == "cpulion":
        from deepspeed.ops.lion import DeepSpeedCPULion
        optimizer = DeepSpeedCPULion(groups)
        # Loading adds an option of Adam's to it; loaded once before training, it is the same before and after.
        optimizer.load_state_dict(optimizer.state_dict())
        return optimizer
    if kind == "cpuadagrad":
        from deepspeed.ops.adagrad import DeepSpeedCPUAdagrad
        return DeepSpeedCPUAdagrad(groups)
    if kind == "muon":
        from deepspeed.runtime.zero.muon.muon_optimizer import MuonWithAuxAdam
        for group in groups:
            for parameter in group["params"]:
                parameter.use_muon = group["use_muon"]
        return MuonWithAuxAdam(groups)
    classes = {"adamw": torch.optim.AdamW, "amsgrad": torch.optim.Adam, "sgd": torch.optim.SGD,
               "adagrad": torch.optim.Adagrad, "lion": Lion, "rmsprop": torch.optim.RMSprop,
               "adafactor": torch.optim.Adafactor}
    return classes[kind](groups, lr=1e-3)


def _build_scheduler(kind, optimizer):
    if kind == "config":
        return None  # DeepSpeed creates it
    if kind == "cosine":
        # The recursive form: each rate follows from the one before, so a rate that is not restored is detected.
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400, eta_min=1e-5)
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.8)


def build_engine(setup, world, accumulation=1, seed=17, frozen_seed=None, zero_options=None):
    """`zero_options`: more of the configuration's zero_optimization, such as offloading with its folder."""
    torch.set_num_threads(1)
    if setup.precision == "fp16":
        # On a CPU without native fp16 only this query prevents DeepSpeed's fp16 path.
        get_accelerator().is_fp16_supported = lambda: True
    model = build_model(seed, **dict(setup.shape))
    if frozen_seed is not None:
        take_frozen(model, build_model(frozen_seed, **dict(setup.shape)))
    groups = setups.optimizer_groups(setup, *split_parameters(model))
    config = setups.deepspeed_config(setup, world, accumulation)
    config["zero_optimization"].update(zero_options or {})
    if setup.zenflow:
        engine, *_ = deepspeed.initialize(model=model, model_parameters=groups, config=config,
                                          lr_scheduler=lambda made: _build_scheduler(setup.scheduler, made))
        return engine
    optimizer = _build_optimizer(setup.optimizer, groups)
    scheduler = _build_scheduler(setup.scheduler, optimizer)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=scheduler, config=config)
    return engine


def train(engine, rank, world, first_step, steps, accumulation=1, poisoned=(), shape=(),
          global_batch=setups.GLOBAL_BATCH):
    """Trains optimizer steps [first_step, first_step + steps) and returns this rank's mean loss of each.

    A poisoned step's loss is multiplied up until its gradients overflow, which makes fp16 skip it.
    """
    sizes = dict(shape)
    vocabulary, length = sizes.get("vocabulary", 32), sizes.get("positions", 8)
    losses = []
    for step in range(first_step, first_step + steps):
        batch = make_batch(step, global_batch, length, vocabulary)
        local = batch.chunk(world)[rank]
        parts = []
        for piece in local.chunk(accumulation):
            loss = engine(piece)
            parts.append(loss.item())
            engine.backward(loss * 1e30 if step in poisoned else loss)
            engine.step()
        losses.append(sum(parts) / len(parts))
    return losses
