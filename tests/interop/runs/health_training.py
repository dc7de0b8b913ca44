# SPDX-License-Identifier: Apache-2.0
"""Trains a run as stock DeepSpeed does it on CPU and saves its tags. Faults that come from training are planted here: a
learning rate far too high for a few steps, moments that are lost."""

import math
import shutil
from dataclasses import dataclass
from pathlib import Path

from runs import health_models, ranks

EACH_BATCH = 12  # divides by 1, 2 and 3 ranks
RATES = {"sgd": 30.0, "lion": 0.1, "cpulion": 0.1, "adagrad": 10.0, "cpuadagrad": 10.0}


@dataclass(frozen=True)
class Run:
    name: str
    model: str = "gpt2"
    sizes: tuple = ()  # of (name, value), for the model
    stage: int = 2
    precision: str = "bf16"
    optimizer: str = "adamw"
    options: tuple = ()  # of (name, value), for the optimizer
    rate: float = 2e-3
    schedule: str = "cosine"
    groups: str = "one"  # decay: norms and biases without weight decay; layers: a rate for each layer
    decay: float = 0.0
    tags: tuple = (10, 20, 30, 40, 50, 60)
    steps: int = 0  # that the schedule is made for; 0: up to the last tag
    worlds: tuple = ((0, 2),)  # of (from this step on, number of ranks)
    clip: float = 1.0
    zero: tuple = ()  # more of zero_optimization
    config: tuple = ()  # more of the configuration
    frozen: tuple = ()
    data: str = ""  # easy: classes that do not overlap; changes at 30: another language from this step on
    poisoned: tuple = ()  # steps whose gradients overflow, which fp16 skips
    spike: tuple = ()  # (factor, first step, last step) of the learning rate
    reset: tuple = ()  # (step, way): how the moments are lost before it

    @property
    def length(self):
        return self.steps or self.tags[-1]

    def world_at(self, step):
        return [world for first, world in self.worlds if first <= step][-1]


def factor_of(run, step):
    """The learning rate of a step as a share of the run's."""
    warm, whole = max(1, run.length // 10), run.length
    part = max(0.0, (step - warm) / max(1, whole - warm))
    factor = {
        "constant": 1.0,
        "set": 0.1 + 0.9 * min((step + 1) / warm, 1.0),
        "cosine": min((step + 1) / warm, 1.0) * (0.55 + 0.45 * math.cos(math.pi * min(1.0, part))),
        "zero": min(step / warm, 1.0) * (0.5 + 0.5 * math.cos(math.pi * min(1.0, part))),  # from zero to zero
        "linear": min((step + 1) / warm, 1.0) * (1.0 - part),
        "long warm-up": min(1.0, 10.0 ** (-3 + 3 * step / (0.8 * whole))),
        "raised": 0.1 if step < whole // 2 else min(1.0, 0.1 + (step - whole // 2) / warm),  # training continues with more
        "steps": 0.1 ** (3 * step // whole),
    }.get(run.schedule, 1.0)
    if run.spike and run.spike[1] <= step <= run.spike[2]:
        factor *= run.spike[0]
    return factor


def _scheduler(run, optimizer):
    from torch.optim import lr_scheduler
    if run.schedule == "one-cycle":
        rates = [group["lr"] for group in optimizer.param_groups]
        return lr_scheduler.OneCycleLR(optimizer, rates, total_steps=run.length + 1, cycle_momentum=False)
    if run.schedule == "restarts":
        return lr_scheduler.CosineAnnealingWarmRestarts(optimizer, run.length // 3, eta_min=1e-6)
    if run.schedule == "recursive cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, run.length, eta_min=run.rate / 100)
    if run.schedule in ("config", "set"):
        return None  # DeepSpeed creates it; the training sets the rate
    return lr_scheduler.LambdaLR(optimizer, lambda step: factor_of(run, step))


def named_groups(run, model):
    """[(options, [(name, parameter)])], as the optimizer gets them."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    rate = run.rate * RATES.get(run.optimizer, 1.0)
    if run.groups == "one":
        return [({"lr": rate, "weight_decay": run.decay}, named)]
    if run.groups == "decay":
        large = [pair for pair in named if pair[1].dim() > 1]
        small = [pair for pair in named if pair[1].dim() <= 1]
        return [({"lr": rate, "weight_decay": run.decay}, large), ({"lr": rate, "weight_decay": 0.0}, small)]
    depths = sorted({_number(name) for name, _ in named})
    return [({"lr": rate * 0.7 ** (len(depths) - 1 - place), "weight_decay": run.decay},
             [pair for pair in named if _number(pair[0]) == depth]) for place, depth in enumerate(depths)]


def _number(name):
    found = [int(part) for part in name.split(".") if part.isdigit()]
    if found:
        return found[0]
    return 1000 if "head" in name or "norm" in name else -1


def _optimizer(run, groups):
    import torch
    from runs.training import Lion
    kind, options = run.optimizer, dict(run.options)
    if kind == "cpuadam":
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        return DeepSpeedCPUAdam(groups, **options)
    if kind == "fusedadam":
        from deepspeed.ops.adam import FusedAdam
        return FusedAdam(groups, **options)
    if kind == "cpulion":
        from deepspeed.ops.lion import DeepSpeedCPULion
        return DeepSpeedCPULion(groups, **options)
    if kind == "cpuadagrad":
        from deepspeed.ops.adagrad import DeepSpeedCPUAdagrad
        return DeepSpeedCPUAdagrad(groups, **options)
    made = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD,
            "adagrad": torch.optim.Adagrad, "lion": Lion}[kind]
    return made(groups, lr=run.rate, **{"momentum": 0.9} | options if kind == "sgd" else options)


def _config(run, universal):
    config = {
        "train_micro_batch_size_per_gpu": EACH_BATCH,  # overwritten by the number of ranks
        "steps_per_print": 1000000,
        "gradient_clipping": run.clip,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {"stage": run.stage, "reduce_bucket_size": 200000, "allgather_bucket_size": 200000,
                              **dict(run.zero)},
    }
    if run.stage == 3:
        config["zero_optimization"].setdefault("stage3_param_persistence_threshold", 100)
    if run.precision == "bf16":
        config["bf16"] = {"enabled": True}
    if run.precision == "fp16":
        config["fp16"] = {"enabled": True, "initial_scale_power": 12, "loss_scale_window": 12, "hysteresis": 1,
                          "min_loss_scale": 1}
    if universal:
        config["checkpoint"] = {"load_universal": True}
    return config | dict(run.config)


def _engine(run, world, universal=False):
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator
    torch.set_num_threads(1)
    if run.precision == "fp16":
        # On a CPU without native fp16 only this query prevents DeepSpeed's fp16 path.
        get_accelerator().is_fp16_supported = lambda: True
    model = health_models.build(run.model, run.sizes, run.frozen)
    groups = named_groups(run, model)
    names = [[name for name, _ in pairs] for _, pairs in groups]
    optimizer = _optimizer(run, [{"params": [parameter for _, parameter in pairs], **options} for options, pairs in groups])
    config = _config(run, universal) | {"train_micro_batch_size_per_gpu": EACH_BATCH // world}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=_scheduler(run, optimizer),
                                      config=config)
    return engine, names


def _forget(engine):
    """The moments become zero; the counters of steps stay."""
    import torch
    inner = getattr(engine.optimizer, "optimizer", engine.optimizer)
    for state in inner.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor) and value.numel() > 1:
                value.zero_()


def _train(rank, world, run, folder, first, last, universal):
    """Steps [first, last), and the tags in it."""
    import torch
    engine, names = _engine(run, world, universal)
    way = run.reset[1] if run.reset and run.reset[0] == first else ""
    if first:
        path, _ = engine.load_checkpoint(folder, load_optimizer_states=way != "not loaded")
        if path is None:
            raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    if way == "zeroed":
        _forget(engine)
    data, losses = health_models.Data(run.model, run.data), []
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[run.precision]
    for step in range(first, last):
        if run.schedule == "set":
            for group in engine.optimizer.param_groups:
                group["lr"] = run.rate * factor_of(run, step)
        inputs, labels = (part.chunk(world)[rank] for part in data.batch(step, EACH_BATCH))
        loss = health_models.loss_of(run.model, engine, inputs, labels, dtype)
        losses.append(loss.item())
        engine.backward(loss * 1e30 if step in run.poisoned else loss)
        engine.step()
        if step + 1 in run.tags:
            engine.save_checkpoint(folder)
    return names, losses


def train(run, folder, log_path):
    """Trains the whole run. Returns the names in every group of the optimizer, and the losses."""
    shutil.rmtree(folder, ignore_errors=True)
    health_models.build(run.model, run.sizes)  # imports its library once, not on every rank
    ends = sorted({first for first, _ in run.worlds[1:]} | ({run.reset[0]} if run.reset else set()) | {run.tags[-1]})
    first, names, losses = 0, None, []
    for last in ends:
        source, world, universal = Path(folder), run.world_at(first), False
        if first and run.stage and run.world_at(first - 1) != world:
            source, universal = _other_world(run, folder, log_path), True
        names, parts = zip(*ranks.run_ranks(world, _train, run, str(source), first, last, universal, log_path=log_path))
        names, losses = names[0], losses + [sum(step) / len(step) for step in zip(*parts)]
        if universal:
            _collect(source, folder)
        first = last
    return names, losses


def _other_world(run, folder, log_path):
    """A universal folder next to it, which stock DeepSpeed loads at any number of ranks."""
    from runs.universal import _convert
    tag, target = (Path(folder) / "latest").read_text(), Path(f"{folder}-universal")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    ranks.run_ranks(1, _convert, str(Path(folder) / tag), str(target / f"{tag}_universal"), True, log_path=log_path)
    return target


def _collect(source, folder):
    """Moves the tags that the resumed run saved to the run's folder."""
    for path in source.glob("global_step*"):
        if not path.name.endswith("_universal"):
            shutil.move(path, Path(folder) / path.name)
    (Path(folder) / "latest").write_text((source / "latest").read_text())
    shutil.rmtree(source)


def train_parallel(rank, world, setup, folder, tags):
    """A run whose ranks hold different parameters, with these tags."""
    from runs.parallel_training import build_engine, client_state, train as train_steps
    engine, first, losses = build_engine(setup, world), 0, []
    for last in tags:
        losses += train_steps(engine, setup, rank, world, first, last - first)
        engine.save_checkpoint(folder, client_state=client_state(setup))
        first = last
    return losses
