# SPDX-License-Identifier: Apache-2.0
"""Models whose ranks hold different parameters: pipeline stages, tensor slices and experts."""

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, WIDTH, LENGTH = 24, 12, 6


class Embedding(nn.Module):
    """First and last layer of the pipeline: tied, so that both stages hold its weight."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(VOCABULARY, WIDTH) * 0.1)

    def forward(self, tokens):
        return functional.embedding(tokens, self.weight)


def to_logits(layer, x):
    return functional.linear(x, layer.weight)


class Block(nn.Module):

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 3 * WIDTH)
        self.down = nn.Linear(3 * WIDTH, WIDTH)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


def next_token_loss(logits, tokens):
    return functional.cross_entropy(logits.float().flatten(0, 1), tokens.flatten())


def pipeline_model(stages, topology=None, blocks=3, partition="uniform", tied=True):
    from deepspeed.pipe import LayerSpec, PipelineModule, TiedLayerSpec
    first = TiedLayerSpec("embed", Embedding, tied_weight_attr="weight") if tied else LayerSpec(Embedding)
    last = (TiedLayerSpec("embed", Embedding, forward_fn=to_logits, tied_weight_attr="weight") if tied else
            LayerSpec(nn.Linear, WIDTH, VOCABULARY, bias=False))
    layers = [
        first,
        LayerSpec(Block),
        lambda x: x * 1.0,  # a function writes no layer file: the numbers have a gap
        *(LayerSpec(Block) for _ in range(blocks - 1)),
        LayerSpec(nn.LayerNorm, WIDTH),
        last,
    ]
    shape = {"topology": topology} if topology else {"num_stages": stages}
    return PipelineModule(layers=layers, loss_fn=next_token_loss, partition_method=partition, **shape)


class MoeModel(nn.Module):
    """Two layers of experts with different counts, between dense parameters."""

    def __init__(self, ep_size, experts):
        super().__init__()
        from deepspeed.moe.layer import MoE
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        with torch.no_grad():
            self.embed.weight.mul_(0.1)
        self.blocks = nn.ModuleList()
        for count in experts:
            expert = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
            self.blocks.append(MoE(hidden_size=WIDTH, expert=expert, num_experts=count, ep_size=min(ep_size, count),
                                   k=1, capacity_factor=4.0, eval_capacity_factor=4.0, min_capacity=16,
                                   drop_tokens=False))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens[:, :-1])
        for block in self.blocks:
            x = x + block(x)[0]
        return next_token_loss(self.head(x), tokens[:, 1:])


class TensorParallelModel(nn.Module):
    """Names that AutoTP splits by rows and by columns, and others that stay whole on every rank."""

    class Layer(nn.Module):

        def __init__(self):
            super().__init__()
            self.up_proj = nn.Linear(WIDTH, 4 * WIDTH)
            self.down_proj = nn.Linear(4 * WIDTH, WIDTH)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, x):
            return x + self.down_proj(functional.gelu(self.up_proj(self.norm(x))))

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        with torch.no_grad():
            self.embed.weight.mul_(0.1)
        self.layers = nn.ModuleList(self.Layer() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens[:, :-1])
        for layer in self.layers:
            x = layer(x)
        return next_token_loss(self.head(x), tokens[:, 1:])
