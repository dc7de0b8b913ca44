# SPDX-License-Identifier: Apache-2.0
"""Violations of the checks of stock DeepSpeed's loaders: each is planted with torch in the tag folder of a
checkpoint."""

import shutil
from dataclasses import dataclass, replace
from typing import Callable

import torch


@dataclass(frozen=True)
class Damage:
    number: int  # of core/doctor/loader_checks.h; 0: stock loads it, and no check may report it
    what: str
    plant: Callable  # of the tag folder
    code: str = "loader-refuses"
    one_rank: bool = False  # only one rank raises, so that the others must be ended
    world: int = 2  # ranks that load it
    warned: bool = False  # stock loads it in this engine, other engines refuse it: the check is a warning


def edit(paths, change):
    paths = sorted(paths)
    if not paths:
        raise ValueError("no file to damage")
    for path in paths:
        content = torch.load(path, weights_only=False)
        change(content)
        torch.save(content, path)


def model(change):
    """Changes every model file, but not those of single experts."""
    return lambda tag: edit((path for path in tag.glob("*mp_rank_*_model_states.pt")
                             if not path.name.startswith("layer_")), change)


def model_of_rank_1(change):
    return lambda tag: edit(tag.glob("zero_pp_rank_1_mp_rank_*_model_states.pt"), change)


def shards(change):
    """Changes `optimizer_state_dict` of every rank's optimizer file."""
    return lambda tag: edit(tag.glob("*zero_pp_rank_*_optim_states.pt"),
                            lambda content: change(content["optimizer_state_dict"]))


def base(change):
    return shards(lambda wrapper: change(wrapper["base_optimizer_state"]))


def torch_state(change):
    return shards(lambda wrapper: change(wrapper["optimizer_state_dict"]))


def universal(change):
    return lambda tag: edit([tag / "zero" / "optimizer_state.pt"], change)


def without(key):
    return lambda content: content.pop(key)


def having(key, value):
    return lambda content: content.__setitem__(key, value)


def as_saved(tag):
    """Nothing is damaged."""


def shard_of_rank_1(change):
    return lambda tag: edit(tag.glob("*zero_pp_rank_1_*_optim_states.pt"),
                            lambda content: change(content["optimizer_state_dict"]))


def remove(pattern):
    def plant(tag):
        for path in sorted(tag.glob(pattern)):
            path.unlink()
    return plant


def _longer(tensors, index):
    tensors[index] = torch.cat([tensors[index].detach(), torch.zeros(4)])


def _shorter(tensors, index):
    tensors[index] = tensors[index].detach()[:-4].clone()


def _count_files_wrongly(content):
    content["mp_world_size"] = 3
    if "checkpoint_parallel_dimensions" in content:
        content["checkpoint_parallel_dimensions"]["tp_degree"] = 3


def _add_model_file(tag):
    shutil.copyfile(tag / "mp_rank_00_model_states.pt", tag / "mp_rank_00_old_model_states.pt")


def _other_precision(tag):
    for path in sorted(tag.glob("bf16_zero_pp_rank_*")):
        path.rename(path.with_name(path.name.removeprefix("bf16_")))


def _fill_placeholder(content):
    name = next(iter(content["param_shapes"][0]))
    content["module"][name] = torch.zeros(1, dtype=torch.bfloat16)


def _frozen_fragment(content):
    content["frozen_param_fragments"].pop(next(iter(content["frozen_param_fragments"])))


def _frozen_parameter(content):
    name = next(iter(content["frozen_param_fragments"]))
    content["frozen_param_fragments"].pop(name)
    content["module"].pop(name)


def _optimizer_key(pattern):
    return lambda tag: edit(tag.glob(f"{pattern}_optim_states.pt"), without("optimizer_state_dict"))


def _parameter_file(name, state):
    return lambda tag: (tag / "zero" / name / f"{state}.pt").unlink()


def _longer_moment(state):
    state["state"][0]["exp_avg"] = torch.cat([state["state"][0]["exp_avg"], torch.zeros(4)])


MODEL_KEYS = [
    Damage(3, "`module` removed", model(without("module"))),
    Damage(7, "`dp_world_size` removed", model(without("dp_world_size"))),
    Damage(8, "`global_steps` removed", model(without("global_steps"))),
    Damage(9, "`skipped_steps` removed", model(without("skipped_steps"))),
    Damage(10, "`mp_world_size` removed", model(without("mp_world_size"))),
    Damage(11, "`lr_scheduler` removed", model(without("lr_scheduler"))),
    Damage(16, "`lr_scheduler` is None", model(having("lr_scheduler", None))),
]

VERSION = [
    Damage(30, "`ds_version` removed", shards(without("ds_version"))),
    Damage(30, "`ds_version` is empty", shards(having("ds_version", ""))),
    Damage(30, "`ds_version` is \"unknown\"", shards(having("ds_version", "unknown"))),
]

BASE = [
    Damage(31, "`base_optimizer_state` removed", shards(without("base_optimizer_state"))),
    Damage(32, "the last param group removed", base(lambda state: state["param_groups"].pop())),
    Damage(33, "`params` of a param group has two entries",
           base(lambda state: state["param_groups"][0]["params"].append(7))),
]

ZERO2 = [
    Damage(1, "no model file", remove("mp_rank_*_model_states.pt"), "model-states-missing"),
    Damage(2, "`mp_world_size` is 3, of one file", model(_count_files_wrongly)),
    Damage(2, "one more file that matches stock's pattern", _add_model_file),
    *MODEL_KEYS,
    Damage(4, "a weight removed from `module`",
           model(lambda content: content["module"].pop("layers.0.attention.wo.bias")), "model-changed"),
    Damage(6, "a frozen parameter removed from `frozen_param_fragments`", model(_frozen_fragment)),
    Damage(6, "a frozen parameter removed from `frozen_param_fragments` and from `module`", model(_frozen_parameter),
           "frozen-lost"),
    Damage(15, "3 ranks load what 2 saved", as_saved, "world-size-mismatch", one_rank=True, world=3),
    Damage(15, "`dp_world_size` is 3", model(having("dp_world_size", 3)), "bad-world-size-field"),
    Damage(20, "rank 1's optimizer file removed", remove("*zero_pp_rank_1_*"), "rank-missing", one_rank=True),
    Damage(21, "optimizer files without the prefix bf16_", _other_precision),
    Damage(22, "`optimizer_state_dict` removed", _optimizer_key("*zero_pp_rank_*")),
    Damage(22, "`optimizer_state_dict` removed from rank 1's file", _optimizer_key("*zero_pp_rank_1_*"), "rank-foreign",
           one_rank=True),
    *VERSION,
    *BASE,
    Damage(34, "a moment is four elements longer", base(_longer_moment)),
    Damage(34, "a moment of rank 1 is four elements shorter",
           shard_of_rank_1(lambda wrapper: _shorter(wrapper["base_optimizer_state"]["state"][0], "exp_avg")), one_rank=True),
    Damage(35, "a master partition is four elements longer",
           shards(lambda wrapper: _longer(wrapper["single_partition_of_fp32_groups"], 0)), "tensor-invalid"),
    Damage(35, "a master partition of rank 1 is four elements longer",
           shard_of_rank_1(lambda wrapper: _longer(wrapper["single_partition_of_fp32_groups"], 0)), "state-length",
           one_rank=True),
    Damage(35, "a master partition of rank 1 is four elements shorter",
           shard_of_rank_1(lambda wrapper: _shorter(wrapper["single_partition_of_fp32_groups"], 0)), "state-length"),
    Damage(35, "`single_partition_of_fp32_groups` removed", shards(without("single_partition_of_fp32_groups"))),
    Damage(36, "`param_alignment_paddings` is empty", shards(having("param_alignment_paddings", []))),
]

ZERO3 = [
    *MODEL_KEYS,
    *(Damage(damage.number, f"{damage.what} in rank 1's model file", model_of_rank_1(without(key)), one_rank=True)
      for damage, key in zip(MODEL_KEYS, ("module", "dp_world_size", "global_steps", "skipped_steps", "mp_world_size",
                                          "lr_scheduler"))),
    Damage(16, "`lr_scheduler` is None in rank 1's model file", model_of_rank_1(having("lr_scheduler", None)),
           one_rank=True),
    Damage(5, "a placeholder in `module` has an element", model(_fill_placeholder)),
    Damage(5, "a placeholder in `module` of rank 1's model file has an element", model_of_rank_1(_fill_placeholder),
           one_rank=True),
    Damage(50, "`loss_scaler` removed", shards(without("loss_scaler"))),
    Damage(50, "`dynamic_loss_scale` removed", shards(without("dynamic_loss_scale"))),
    Damage(50, "`overflow` removed", shards(without("overflow"))),
    Damage(51, "the inner `optimizer_state_dict` removed", shards(without("optimizer_state_dict"))),
    Damage(52, "the last entry of `fp32_flat_groups` removed", shards(lambda wrapper: wrapper["fp32_flat_groups"].pop())),
    Damage(53, "one more entry in `params` of a param group",
           torch_state(lambda state: state["param_groups"][0]["params"].append(99))),
    Damage(54, "a sub-group's master is four elements longer",
           shards(lambda wrapper: _longer(wrapper["fp32_flat_groups"], 0)), "tensor-invalid"),
    Damage(54, "a sub-group's master of rank 1 is four elements shorter",
           shard_of_rank_1(lambda wrapper: _shorter(wrapper["fp32_flat_groups"], 0)), "state-length", one_rank=True),
    Damage(54, "a sub-group's master has one element",
           shards(lambda wrapper: wrapper["fp32_flat_groups"].__setitem__(0, wrapper["fp32_flat_groups"][0][:1].clone())),
           "tensor-invalid"),
    Damage(55, "`state` of a sub-group removed", torch_state(lambda state: state["state"].pop(0))),
    Damage(55, "`state` of a sub-group removed from rank 1's file",
           shard_of_rank_1(lambda wrapper: wrapper["optimizer_state_dict"]["state"].pop(0)), "state-missing"),
    Damage(6, "a frozen parameter removed from rank 1's `frozen_param_fragments`", model_of_rank_1(_frozen_fragment),
           one_rank=True),
]

ZERO1 = [*VERSION, *BASE]
BF16_OPTIMIZER = [*VERSION, *BASE]
STAGE_0 = [*MODEL_KEYS, Damage(14, "`optimizer` removed", model(without("optimizer")))]

EXPERTS = [
    Damage(12, "`num_experts` removed", model(without("num_experts"))),
    Damage(13, "an expert's file removed", remove("layer_0_expert_1_*"), "moe-incomplete", one_rank=True),
]

ELASTIC = [Damage(37, "`base_optimizer_state_step` removed", shards(without("base_optimizer_state_step")),
                  "cannot-load-own-save")]

UNIVERSAL_VERSION = [
    Damage(71, "`ds_version` removed", universal(without("ds_version"))),
    Damage(71, "`ds_version` is \"unknown\"", universal(having("ds_version", "unknown"))),
]
# BF16_Optimizer and ZeRO-3 do not read the version.
UNIVERSAL_VERSION_WARNED = [replace(damage, warned=True) for damage in UNIVERSAL_VERSION]
UNIVERSAL_PARTS = [
    Damage(70, "`param_groups` removed", universal(without("param_groups"))),
    Damage(72, "a parameter's folder removed",
           lambda tag: shutil.rmtree(tag / "zero" / "layers.0.attention.wo.bias"), "state-missing"),
]
UNIVERSAL = [*UNIVERSAL_VERSION, *UNIVERSAL_PARTS]
UNIVERSAL_BF16 = [*UNIVERSAL_VERSION_WARNED, *UNIVERSAL_PARTS]
UNIVERSAL_3 = [
    Damage(0, "the outer `param_groups` removed", universal(lambda content: content.pop("param_groups", None))),
    Damage(70, "the inner `param_groups` removed",
           universal(lambda content: content["optimizer_state_dict"].pop("param_groups"))),
    Damage(72, "a parameter's fp32 file removed", _parameter_file("layers.0.attention.wo.bias", "fp32"),
           "state-missing"),
    Damage(72, "a parameter's exp_avg file removed", _parameter_file("layers.0.attention.wo.bias", "exp_avg"),
           "state-missing"),
    Damage(73, "`step` of `state[0]` removed",
           universal(lambda content: content["optimizer_state_dict"]["state"][0].pop("step"))),
    Damage(73, "`state[0]` removed", universal(lambda content: content["optimizer_state_dict"]["state"].pop(0))),
]
