# SPDX-License-Identifier: Apache-2.0
"""A model whose experts DeepSpeed's AutoEP replaces by tensors of several experts, and what an engine then holds."""

import re

import torch
from torch import nn
from torch.nn import functional

from runs.parallel_models import VOCABULARY, WIDTH, next_token_loss

HIDDEN = 10  # an expert's matrices end on no round number
FUSED = re.compile(r".*\.experts\.w[123]$")


class Gate(nn.Module):

    def __init__(self, count):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, WIDTH) * 0.1)


class Experts(nn.Module):

    def __init__(self, count):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(count, 2 * HIDDEN, WIDTH) * 0.1)
        self.down_proj = nn.Parameter(torch.randn(count, WIDTH, HIDDEN) * 0.1)


class SparseMlp(nn.Module):
    """In the form in which AutoEP looks for it; it never runs."""

    def __init__(self, count):
        super().__init__()
        self.gate = Gate(count)
        self.experts = Experts(count)


class Layer(nn.Module):

    def __init__(self, count):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mlp = SparseMlp(count)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class SlicedLayer(Layer):
    """With matrices that AutoTP cuts by rows and by columns."""

    def __init__(self, count):
        super().__init__(count)
        self.up_proj = nn.Linear(WIDTH, 4 * WIDTH)
        self.down_proj = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return super().forward(x + self.down_proj(functional.gelu(self.up_proj(x))))


class Model(nn.Module):

    def __init__(self, experts, sliced=False):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        make = SlicedLayer if sliced else Layer
        self.layers = nn.ModuleList(make(count) for count in experts)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens[:, :-1])
        for layer in self.layers:
            x = layer(x)
        return next_token_loss(self.head(x), tokens[:, 1:])


def config(degree):
    return {"enabled": True, "autoep_size": degree, "moe_layer_pattern": r"layers\.\d+\.mlp", "top_k": 2,
            "use_grouped_mm": False, "disable_triton_grouped_mm": True}


def rename(name, parameter):
    """Appends to a name, after a bar, the expert-parallel rank of a fused tensor and its number of experts."""
    if not FUSED.match(name):
        return name
    from deepspeed.utils import groups
    rank = groups._get_expert_parallel_rank(parameter.group_name)
    return f"{name}|{rank}|{getattr(parameter, 'ds_shape', parameter.shape)[0]}"


def _experts(name):
    """Parses a name of rename(): the fused tensor's name, its first expert, and the number of experts; None for other
    names."""
    if "|" not in name:
        return None
    fused, rank, count = name.split("|")
    return fused, int(rank) * int(count), int(count)


def one_by_one(state):
    """A rank's state with the experts of fused tensors under the names that expert files give them."""
    fragments = []
    for name, key, numel, start, group, (dtype, shape, data) in state["fragments"]:
        if (experts := _experts(name)) is None:
            fragments.append((name, key, numel, start, group, (dtype, shape, data)))
            continue
        fused, first, count = experts
        each, item = numel // count, len(data) // shape[0] if shape[0] else 0
        for expert in range(count):
            low, high = max(start, expert * each), min(start + shape[0], (expert + 1) * each)
            part = data[(low - start) * item:(high - start) * item] if high > low else b""
            fragments.append((f"{fused}.{first + expert}", key, each, max(0, low - expert * each) if part else 0, group,
                              (dtype, (max(0, high - low),), part)))
    weights = {}
    for name, (dtype, shape, data) in state["weights"].items():
        if ".tokens_per_expert" in name:
            continue  # routing statistics of this rank, which no file holds
        if (experts := _experts(name)) is None:
            weights[name] = (dtype, shape, data)
            continue
        fused, first, count = experts
        each = len(data) // count
        for expert in range(count):
            weights[f"{fused}.{first + expert}"] = (dtype, tuple(shape[1:]), data[expert * each:(expert + 1) * each])
    scalars = {}
    for label, value in state["scalars"].items():
        name, _, key = label.rpartition(" ")
        if (experts := _experts(name)) is None:
            scalars[label] = value
            continue
        fused, first, count = experts
        scalars.update((f"{fused}.{first + expert} {key}", value) for expert in range(count))
    return {**state, "fragments": fragments, "weights": weights, "scalars": scalars}
