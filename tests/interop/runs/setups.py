# SPDX-License-Identifier: Apache-2.0
"""Setups of training: ZeRO stage, precision, optimizer, and the DeepSpeed configuration for them."""

from dataclasses import dataclass

# A norm that no gradient has. DeepSpeed's 0 leaves other values in its files.
NO_CLIPPING = 1e9
# Divides by every world size of the matrix, so every rank's mean weighs the same in the mean of all.
GLOBAL_BATCH = 60


# ZenFlow chooses among the columns that a rank holds whole, so that its updates depend on the number of ranks. During
# warm-up every step updates everything.
ZEN_FLOWS = {
    "active": {"topk_ratio": 0.25, "select_strategy": "step", "select_interval": 4, "update_interval": 2},
    "warm": {"topk_ratio": 0.25, "select_strategy": "step", "select_interval": 4, "update_interval": 1,
             "full_warm_up_rounds": 1000},
}


@dataclass(frozen=True)
class Setup:
    stage: int
    precision: str  # bf16, fp16 or fp32
    optimizer: str = "adamw"
    bf16_optimizer: bool = False  # DeepSpeed's BF16_Optimizer in place of the ZeRO-1 one
    offload: bool = False
    sub_group_size: int = 0  # ZeRO-3; 0 leaves DeepSpeed's default, which keeps each group whole
    round_robin: bool = False
    aligned: bool = False  # parameter_alignment: every parameter on a 16-byte boundary of the flat buffer
    elastic: bool = False  # elastic_checkpoint: lean states in a list, without options
    shape: tuple = ()  # of (name, value), for TinyLanguageModel
    groups: int = 3
    scheduler: str = "cosine"  # config: of the configuration, which records it in the checkpoint
    rate: float = 1.0  # of learning: wide models need less of it to keep rounding from growing from step to step
    universal: bool = False  # the engine loads universal checkpoints, and no native ones
    zenflow: str = ""  # of ZEN_FLOWS
    clips: bool = True  # gradients, at a norm of 1
    legacy: bool = False  # torch writes its form from before its zip files

    @property
    def name(self):
        stage = "bf16opt" if self.bf16_optimizer else f"zero{self.stage}"
        parts = [stage, self.precision]
        parts += [self.optimizer] if self.optimizer != "adamw" else []
        parts += ["offload"] if self.offload else []
        parts += ["roundrobin"] if self.round_robin else []
        parts += ["aligned"] if self.aligned else []
        parts += ["elastic"] if self.elastic else []
        parts += [f"sub{self.sub_group_size}"] if self.sub_group_size else []
        parts += [f"zenflow-{self.zenflow}"] if self.zenflow else []
        parts += ["slashes"] if "/" in str(self.shape) else []
        parts += [name.replace("_", "-") for name in ("mixer_twice", "spare") if dict(self.shape).get(name)]
        parts += [] if self.clips else ["noclip"]
        parts += ["legacy"] if self.legacy else []
        return "-".join(parts)

    @property
    def prefix(self):
        return "bf16_" if self.precision == "bf16" else ""


def deepspeed_config(setup, world, accumulation=1, global_batch=GLOBAL_BATCH):
    micro_batch, rest = divmod(global_batch, world * accumulation)
    if rest:
        raise ValueError(f"global batch {global_batch} does not divide by {world} ranks x {accumulation}")
    zero = {
        "stage": setup.stage,
        "reduce_bucket_size": 100000,
        "allgather_bucket_size": 100000,
        "round_robin_gradients": setup.round_robin,
    }
    if setup.aligned:  # an unknown key to older versions
        zero["parameter_alignment"] = True
    if setup.elastic:
        zero["elastic_checkpoint"] = True
    if setup.optimizer == "muon" and setup.stage == 3:
        zero["reduce_scatter"] = False  # whose shards of gradients Muon cannot use there
    if setup.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    if setup.zenflow:
        zero["zenflow"] = ZEN_FLOWS[setup.zenflow]
    if setup.stage == 3:
        zero["stage3_param_persistence_threshold"] = 100
        zero["stage3_prefetch_bucket_size"] = 100000
        if setup.sub_group_size:
            zero["sub_group_size"] = setup.sub_group_size
    config = {
        "train_micro_batch_size_per_gpu": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "steps_per_print": 1000000,
        "gradient_clipping": 1.0 if setup.clips else NO_CLIPPING,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": zero,
    }
    if setup.zenflow:  # which creates its own optimizers from this
        config["optimizer"] = {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8,
                                                           "weight_decay": 0.01}}
    if setup.scheduler == "config":
        config["scheduler"] = {"type": "WarmupLR", "params": {"warmup_num_steps": 20}}
    if setup.precision == "bf16":
        config["bf16"] = {"enabled": True}
    if setup.precision == "fp16":
        config["fp16"] = {"enabled": True, "initial_scale_power": 10, "loss_scale_window": 5, "hysteresis": 2,
                          "min_loss_scale": 1}
    if setup.bf16_optimizer:
        config["data_types"] = {"grad_accum_dtype": "fp32"}
    if setup.universal:
        config["checkpoint"] = {"load_universal": True}
    if setup.legacy:
        config["checkpoint"] = {"checkpoint_serialization": False}
    return config


def optimizer_groups(setup, matrices, embeddings, small):
    """Options differ in every group, so that tests detect a reader that mixes groups up."""
    if setup.groups < 3:
        matrices, embeddings = matrices + embeddings, []
    if setup.groups < 2:
        # DeepSpeed rebuilds torch's Adagrad for ZeRO-1/2 with one group, regardless of the given groups.
        matrices, small = matrices + small, []
    rates = {"sgd": 20.0, "lion": 0.03, "cpulion": 0.03, "adagrad": 5.0, "cpuadagrad": 5.0, "rmsprop": 0.3}
    factor = rates.get(setup.optimizer, 1.0) * setup.rate
    groups = [
        {"params": matrices, "lr": 3e-3 * factor, "weight_decay": 0.1},
        {"params": embeddings, "lr": 2e-3 * factor, "weight_decay": 0.01},
        {"params": small, "lr": 1e-3 * factor, "weight_decay": 0.0},
    ]
    extra = {
        "adamw": [{"betas": (0.9, 0.95), "eps": 1e-8}, {"betas": (0.85, 0.99), "eps": 1e-7}, {"betas": (0.8, 0.9)}],
        "sgd": [{"momentum": 0.9}, {"momentum": 0.8, "nesterov": True}, {"momentum": 0.7}],
        "lion": [{"betas": (0.9, 0.99)}, {"betas": (0.85, 0.98)}, {"betas": (0.8, 0.97)}],
        "adagrad": [{"eps": 1e-8}, {"eps": 1e-7}, {"lr_decay": 0.01}],
        "cpuadagrad": [{"eps": 1e-8}, {"eps": 1e-7}, {"eps": 1e-6}],
        "rmsprop": [{"alpha": 0.9, "momentum": 0.5, "centered": True}, {"alpha": 0.95}, {"alpha": 0.9, "eps": 1e-7}],
        "adafactor": [{"beta2_decay": -0.8}, {"beta2_decay": -0.7}, {"d": 2.0}],
        "muon": [{"use_muon": True, "momentum": 0.9, "ns_method": "standard"},
                 {"use_muon": False, "betas": (0.85, 0.99), "eps": 1e-7}, {"use_muon": False, "betas": (0.8, 0.9)}],
    }
    alike = {"cpuadam": "adamw", "fusedadam": "adamw", "amsgrad": "adamw", "cpulion": "lion"}
    for group, options in zip(groups, extra[alike.get(setup.optimizer, setup.optimizer)]):
        group.update(options)
        if setup.optimizer == "amsgrad":
            group["amsgrad"] = True
    return [group for group in groups if group["params"]]
