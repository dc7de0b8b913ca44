# SPDX-License-Identifier: Apache-2.0
"""Elastic ZeRO-3 checkpoints, converted from those that stock DeepSpeed saved.

No release of DeepSpeed writes this form. A pull request (#8031) that was closed unmerged describes it: the optimizer's
states under `base_optimizer_state`, without padding. It builds on helpers that stage3.py has had since 0.3.13
(get_lean_optimizer_state), whose padding is that of the last rank alone; forks may differ in the layout of tensors
and in whether options are stored, so several variants are written here.
"""

import shutil
from pathlib import Path

import torch

# Tensors per parameter: slices of the padded buffer, or copies of them. Or one tensor of all parameters' elements.
FORMS = ("views", "copies", "flat")


def _cut(buffer, elements, rank, world, form):
    """A rank's padded buffer of a sub-group without padding: a list of tensors, or one tensor in the flat form."""
    parts, start = [], 0
    for count in elements:
        length = -(-count // world)
        part = buffer[start:start + length]
        start += length
        if form == "flat":
            parts.append(part[:max(0, min(length, count - rank * length))])
            continue
        # As the helpers do: all padding off the last rank's part, even where that is more than there is.
        padding = length * world - count if rank == world - 1 else 0
        parts.append(part[:length - padding] if form == "views" else part[:length - padding].clone())
    if start != buffer.numel():
        raise ValueError(f"a buffer of {buffer.numel()} elements for parameters of {start}")
    return torch.cat(parts) if form == "flat" else parts


def _lean(states, shapes, rank, world, form):
    out = []
    for key in sorted(states):
        elements = [size.numel() for size in shapes[key].values()]
        out.append({name: _cut(value, elements, rank, world, form) if torch.is_tensor(value) and value.dim() else value
                    for name, value in states[key].items()})
    return out


def _by_group(entries, groups):
    """One entry per param group, whose lists continue over its sub-groups."""
    out = []
    for group in groups:
        first, *others = [entries[key] for key in group["params"]]
        out.append({name: value + [tensor for other in others for tensor in other[name]]
                    if isinstance(value, list) else value for name, value in first.items()})
    return out


def rewrite(source, target, form, options=False, by_group=False):
    """The run folder `source` as the pull request would have saved it. `options`: its param groups are stored."""
    target = Path(target)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    tag = target / (target / "latest").read_text()
    files = sorted(tag.glob("*_optim_states.pt"))
    for path in files:
        rank = int(path.name.split("zero_pp_rank_")[1].split("_")[0])
        model = torch.load(tag / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt", weights_only=False)
        content = torch.load(path, weights_only=False)
        wrapper = content["optimizer_state_dict"]
        rigid = wrapper.pop("optimizer_state_dict")
        entries = _lean(rigid["state"], model["param_shapes"], rank, len(files), form)
        wrapper["base_optimizer_state"] = _by_group(entries, rigid["param_groups"]) if by_group else entries
        if options:
            wrapper["optimizer_state_dict"] = {"state": {}, "param_groups": rigid["param_groups"]}
        torch.save(content, path)
