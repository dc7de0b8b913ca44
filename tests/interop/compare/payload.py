# SPDX-License-Identifier: Apache-2.0
"""Compares two checkpoints of one world size through torch.load: everything but undefined padding."""

import math

import torch


class PayloadDiffers(RuntimeError):
    """Two checkpoints that must be equal differ."""


def _load(path):
    return torch.load(path, weights_only=False, map_location="cpu")


def _share(model, name, world, rank):
    """How many ranks share a parameter, and the number of this rank among them. Experts are shared by the ranks that
    have them."""
    for layer in model.get("ds_autoep_layers") or ():
        if name.startswith(layer["expert_key_prefix"] + "."):
            return layer["expert_data_parallel_world_size"], layer["expert_data_parallel_rank"]
    return world, rank


def _masks(model, all_ranks, own_rank):
    """ZeRO-3: per sub-group, which elements of this rank's flat partition belong to a parameter."""
    masks = []
    for shapes in model["param_shapes"]:
        mask = []
        for name, shape in shapes.items():
            world, rank = _share(model, name, all_ranks, own_rank)
            numel = math.prod(shape)
            share = -(-numel // world)
            real = max(0, min(numel - rank * share, share))
            mask += [True] * real + [False] * (share - real)
        masks.append(torch.tensor(mask, dtype=torch.bool))
    return masks


def _compare(left, right, where, mask):
    """Counts equal tensors; the mask marks the defined elements of a flat tensor of its length."""
    if type(left) is not type(right):
        raise PayloadDiffers(f"{where}: {type(left).__name__} became {type(right).__name__}")
    if torch.is_tensor(left):
        if left.dtype != right.dtype or left.shape != right.shape or left.stride() != right.stride():
            raise PayloadDiffers(f"{where}: {left.dtype} {tuple(left.shape)} became {right.dtype} {tuple(right.shape)}")
        if mask is not None and left.shape == mask.shape:
            left, right = left[mask], right[mask]
        if left.detach().contiguous().reshape(-1).view(torch.uint8).ne(
                right.detach().contiguous().reshape(-1).view(torch.uint8)).any():
            raise PayloadDiffers(f"{where}: values differ")
        return 1
    if isinstance(left, dict):
        if list(left) != list(right):
            raise PayloadDiffers(f"{where}: keys {list(left)} became {list(right)}")
        return sum(_compare(left[key], right[key], f"{where}/{key}", mask) for key in left)
    if isinstance(left, (list, tuple)) and not isinstance(left, torch.Size):
        if len(left) != len(right):
            raise PayloadDiffers(f"{where}: {len(left)} items became {len(right)}")
        return sum(_compare(a, b, f"{where}[{index}]", mask) for index, (a, b) in enumerate(zip(left, right)))
    if hasattr(left, "__dict__") and not isinstance(left, type):
        return _compare(vars(left), vars(right), f"{where}.__dict__", mask)
    if repr(left) != repr(right):
        raise PayloadDiffers(f"{where}: {left!r} became {right!r}")
    return 0


def compare(left, right, same_mappings=True, without=None):
    """Every file of the tags that `latest` names; returns how many tensors are equal. With a list of keys that
    optimizer files may lack, even an empty one, these may keep the others in any order."""
    tag = (left / "latest").read_text()
    left, right = left / tag, right / tag
    count, masks = 0, {}
    for path in sorted(left.glob("*model_states.pt")):
        ours, theirs = _load(path), _load(right / path.name)
        if path.name.startswith("layer_") and "folding" in ours:  # written by whichever rank with the expert was last
            ours["folding"]["zero_partition_rank"] = 0
        if path.name.startswith("zero_pp_rank_"):
            rank = int(path.name.split("_")[3])
            masks[rank] = _masks(ours, ours["dp_world_size"], rank)
            fragments = ours.get("frozen_param_fragments") or {}
            for name, fragment in fragments.items():
                numel = ours["frozen_param_shapes"][name].numel()
                real = max(0, min(numel - rank * fragment.numel(), fragment.numel()))
                count += _compare(fragment[:real], theirs["frozen_param_fragments"][name][:real], name, None)
            ours["frozen_param_fragments"] = theirs["frozen_param_fragments"] = None
        count += _compare(ours, theirs, path.name, None)
    for path in sorted(left.glob("*optim_states.pt")):
        ours, theirs = (_load(folder / path.name)["optimizer_state_dict"] for folder in (left, right))
        if not same_mappings:
            ours.pop("param_slice_mappings"), theirs.pop("param_slice_mappings")
        if without is not None:
            ours, theirs = ({key: sd[key] for key in sorted(sd) if key not in without} for sd in (ours, theirs))
        rank = int(path.name.removeprefix("bf16_").split("_")[3])
        if rank not in masks:
            count += _compare(ours, theirs, path.name, None)
            continue
        nested = [sd.pop("optimizer_state_dict") for sd in (ours, theirs)]
        flat = [sd.pop("fp32_flat_groups") for sd in (ours, theirs)]
        count += _compare(ours, theirs, path.name, None)
        count += _compare(nested[0]["param_groups"], nested[1]["param_groups"], f"{path.name}/param_groups", None)
        states = [[*sd["state"].items()] for sd in nested]
        for index, mask in enumerate(masks[rank]):
            count += _compare(flat[0][index], flat[1][index], f"{path.name}/fp32[{index}]", mask)
        for (key, state), (other, theirs_state) in zip(states[0], states[1], strict=True):
            if key != other:
                raise PayloadDiffers(f"{path.name}: state {key} became {other}")
            count += _compare(state, theirs_state, f"{path.name}/state[{key}]", masks[rank][key])
    return count
