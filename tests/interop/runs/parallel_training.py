# SPDX-License-Identifier: Apache-2.0
"""Stock DeepSpeed with ranks that hold different parameters: build an engine, train, name what it holds."""

import re
import deepspeed
import torch
from deepspeed.accelerator import get_accelerator

from compare import live_state
from runs import autoep, megatron, parallel_models
from runs.parallel_setups import BATCH

EXPERT = re.compile(r"(.*deepspeed_experts\.)(\d+)(\..*)")


def _config(setup, world):
    accumulation = 2 if setup.is_pipeline else 1
    config = {
        "train_micro_batch_size_per_gpu": BATCH // setup.data_ranks(world) // accumulation,
        "gradient_accumulation_steps": accumulation,
        "steps_per_print": 1000000,
        "gradient_clipping": 1.0,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {"stage": setup.stage, "reduce_bucket_size": 100000, "allgather_bucket_size": 100000,
                              "round_robin_gradients": setup.round_robin,
                              "stage3_param_persistence_threshold": 100},
    }
    if setup.precision == "bf16":
        config["bf16"] = {"enabled": True}
    if setup.precision == "fp16":
        config["fp16"] = {"enabled": True, "initial_scale_power": 8}
    if setup.bf16_optimizer:
        config["data_types"] = {"grad_accum_dtype": "fp32"}
    if setup.data_first:
        config["use_data_before_expert_parallelism"] = True
    if setup.kind == "slices" and setup.degree > 1:
        config["tensor_parallel"] = {"autotp_size": setup.degree}
    if setup.kind == "autoep":
        config["expert_parallel"] = autoep.config(setup.degree)
    if setup.slices > 1:
        config["tensor_parallel"] = {"autotp_size": setup.slices}
    if setup.universal:
        config["checkpoint"] = {"load_universal": True}
    return config


def _param_groups(model):
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    small = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": matrices, "lr": 3e-3, "weight_decay": 0.1, "name": "matrices"},
            {"params": small, "lr": 1e-3, "weight_decay": 0.0, "betas": (0.8, 0.95), "name": "small"}]


def build_engine(setup, world, seed=17):
    torch.set_num_threads(1)
    if setup.precision == "fp16":
        get_accelerator().is_fp16_supported = lambda: True
    torch.manual_seed(seed)
    config = _config(setup, world)
    if setup.kind == "slices":
        # AutoTP replaces the layers, so that DeepSpeed must create the optimizer.
        config["optimizer"] = {"type": "AdamW", "params": {"lr": 3e-3, "weight_decay": 0.1, "torch_adam": True}}
        if deepspeed.__version__.startswith("0.16."):
            # It checks the first batch on a device with the name of the local rank, which torch does not know on a CPU.
            get_accelerator().current_device = get_accelerator().current_device_name
        model = parallel_models.TensorParallelModel()
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
        return engine
    if setup.kind == "autoep":
        # AutoEP replaces the layers of experts, so that DeepSpeed must create the optimizer.
        config["optimizer"] = {"type": "AdamW", "params": {"lr": 3e-3, "weight_decay": 0.1, "torch_adam": True}}
        engine, *_ = deepspeed.initialize(model=autoep.Model(setup.experts, setup.slices > 1), config=config)
        return engine
    mpu = None
    if setup.stages:
        model = megatron.pipeline_model(setup.degree, setup.stages, setup.data_ranks(world),
                                        parallel_models.VOCABULARY, setup.padding, parallel_models.next_token_loss)
        groups = _param_groups(model)
        config["pipeline"] = {"pipe_partitioned": False, "grad_partitioned": False}
    elif setup.kind == "megatron":
        mpu = megatron.Mpu(setup.degree) if setup.degree > 1 else None
        model = megatron.Model(mpu, parallel_models.VOCABULARY, setup.padding)
        groups = _param_groups(model)
    elif setup.kind == "pipeline":
        model = parallel_models.pipeline_model(setup.degree, blocks=setup.blocks, partition=setup.partition,
                                               tied=setup.tied)
        groups = _param_groups(model)
    else:
        from deepspeed.moe.utils import split_params_into_different_moe_groups_for_optimizer
        if setup.data_first:
            from deepspeed.utils import groups as process_groups
            process_groups._create_expert_and_data_parallel(setup.degree, use_data_before_expert_parallel_=True)
        model = parallel_models.MoeModel(setup.degree, setup.experts)
        groups = split_params_into_different_moe_groups_for_optimizer(_param_groups(model))
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(groups, lr=1e-3), config=config, mpu=mpu)
    return engine


def _batch(step):
    generator = torch.Generator().manual_seed(4001 + step)
    start = torch.randint(parallel_models.VOCABULARY, (BATCH, 1), generator=generator)
    stride = torch.randint(1, 4, (BATCH, 1), generator=generator)
    return (start + stride * torch.arange(parallel_models.LENGTH + 1)) % parallel_models.VOCABULARY


def _place(engine, setup, rank, world):
    """(data-parallel rank, model-parallel rank)"""
    if setup.kind == "pipeline":
        return engine.grid.get_data_parallel_rank(), engine.grid.get_pipe_parallel_rank()
    if setup.stages:
        return engine.grid.get_data_parallel_rank(), engine.grid.get_slice_parallel_rank()
    if setup.kind in ("slices", "megatron"):
        return rank // setup.degree, rank % setup.degree
    return rank // setup.slices, rank % setup.slices


def client_state(setup):
    if setup.kind != "megatron" or not setup.recorded:
        return {}
    rows = parallel_models.VOCABULARY
    return {"universal_checkpoint_info": megatron.universal_info(rows, rows + setup.padding, setup.stages > 0)}


def train(engine, setup, rank, world, first_step, steps):
    """Trains and returns this rank's loss of each step."""
    data_rank, _ = _place(engine, setup, rank, world)
    losses = []
    for step in range(first_step, first_step + steps):
        local = _batch(step).chunk(setup.data_ranks(world))[data_rank]
        if setup.is_pipeline:
            losses.append(float(engine.train_batch(iter([(x[:, :-1], x[:, 1:]) for x in local.chunk(2)]))))
            continue
        loss = engine(local)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    return losses


def local_state(engine, setup, rank, world):
    """As live_state.local_state, with shardscope's names where several ranks have different parameters of one name."""
    data_rank, part = _place(engine, setup, rank, world)
    names = engine.param_names
    local_experts = {}
    for name in names.values():
        if match := EXPERT.match(name):
            local_experts[match[1]] = max(local_experts.get(match[1], 0), int(match[2]) + 1)

    def rename(name, parameter):
        match = EXPERT.match(name)
        if match:
            from deepspeed.utils import groups
            offset = groups._get_expert_parallel_rank(parameter.group_name) * local_experts[match[1]]
            name = f"{match[1]}{int(match[2]) + offset}{match[3]}"
        if setup.kind in ("slices", "megatron"):
            return f"{name}:tp{part}" if setup.degree > 1 else name
        # A module that several stages share is trained on each of them.
        return f"{name}:pp{part}" if name.startswith("tied_modules.") else name

    if setup.kind == "autoep":
        def rename_fused(name, parameter):
            fused = autoep.rename(name, parameter)
            return f"{name}:tp{part}" if setup.slices > 1 and fused == name else fused
        return autoep.one_by_one(live_state.local_state(engine, rank, rename_fused))
    alike = setup.kind == "megatron" or (setup.kind == "pipeline" and setup.stage == 0)
    return live_state.local_state(engine, rank, rename, data_rank if alike else None)
