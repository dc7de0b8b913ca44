# SPDX-License-Identifier: Apache-2.0
"""A small language model that has every kind of parameter a checkpoint reader can get wrong."""

import torch
from torch import nn
from torch.nn import functional

ODD_NAMES = ("gain [0] *", "größe µ", "a*b[c]#d!e+f@g%h")


class OddNames(nn.Module):
    """Scales by parameters with unusual names: torch refuses only '.' and the empty name."""

    def __init__(self, width, names):
        super().__init__()
        self.names = names
        self.register_parameter(names[0], nn.Parameter(torch.ones(width)))
        self.register_parameter(names[1], nn.Parameter(torch.zeros(3)))
        self.register_parameter(names[2], nn.Parameter(torch.full((1,), 0.5)))

    def forward(self, x):
        gain, shift, weight = (getattr(self, name) for name in self.names)
        return x * gain + weight * functional.pad(shift, (0, x.shape[-1] - shift.shape[0]))


class Attention(nn.Module):

    def __init__(self, width, heads, positions):
        super().__init__()
        self.heads = heads
        self.wq = nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, width, bias=False)
        self.wv = nn.Linear(width, width, bias=False)
        self.wo = nn.Linear(width, width, bias=True)
        self.register_buffer("mask", torch.ones(positions, positions, dtype=torch.bool).tril())

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (w(x).view(batch, length, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        scores = (q.float() @ k.float().transpose(-1, -2)) / (width // self.heads) ** 0.5
        weights = scores.masked_fill(~self.mask[:length, :length], float("-inf")).softmax(-1).to(v.dtype)
        return self.wo((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):

    def __init__(self, width, heads, positions):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, positions)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential()
        self.mlp.add_module("up", nn.Linear(width, 3 * width))
        self.mlp.add_module("act", nn.GELU())
        self.mlp.add_module("down", nn.Linear(3 * width, width))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class PositionTable(nn.Module):
    """Frozen positions: outside the optimizer and outside every flat group."""

    def __init__(self, positions, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(positions, width) * 0.1, requires_grad=False)

    def forward(self, x):
        return x + self.weight[: x.shape[1]]


class OutputScale(nn.Module):

    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.temperature


class ManyScales(nn.Module):
    """Many small parameters: lists with one entry for each of them are long."""

    def __init__(self, count, width):
        super().__init__()
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(count))

    def forward(self, x):
        return x * torch.stack(list(self.scales)).mean(0)


class Spare(nn.Module):
    """Tensors without elements. No forward pass calls it: stock ZeRO-3 cannot fetch a parameter without elements."""

    def __init__(self, width):
        super().__init__()
        self.trained = nn.Parameter(torch.zeros(0, width))
        self.frozen = nn.Parameter(torch.zeros(width, 0), requires_grad=False)
        self.register_buffer("buffer", torch.zeros(0))


class TinyLanguageModel(nn.Module):

    def __init__(self, vocabulary=32, width=16, heads=2, layers=1, positions=8, empty_parameter=False,
                 odd_names=ODD_NAMES, scales=0, mixer_twice=False, spare=False):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocabulary, width)
        self.positions = PositionTable(positions, width)
        self.layers = nn.ModuleList(Layer(width, heads, positions) for _ in range(layers))
        self.odd = OddNames(width, odd_names)
        self.norm = nn.LayerNorm(width)
        self.output_scale = OutputScale()
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.tok_embeddings.weight
        self.register_buffer("inverse_frequency", 1.0 / 10000 ** (torch.arange(0, width, 2) / width))
        self.register_buffer("batches_seen", torch.zeros((), dtype=torch.int64))
        if scales:
            self.many = ManyScales(scales, width)
        if empty_parameter:
            self.register_parameter("unused_adapter", nn.Parameter(torch.zeros(0, width)))
        if mixer_twice:  # one module object under two names: DeepSpeed records no tie of it
            self.mixer = nn.Linear(width, width)
            self.mixer_again = self.mixer
        if spare:
            self.spare = Spare(width)

    def forward(self, tokens):
        x = self.positions(self.tok_embeddings(tokens[:, :-1]))
        for layer in self.layers:
            x = layer(x)
        if hasattr(self, "many"):
            x = self.many(x)
        if hasattr(self, "mixer"):
            x = x + self.mixer_again(torch.tanh(self.mixer(x)))
        logits = self.output_scale(self.lm_head(self.norm(self.odd(x)))).float()
        if self.training:
            self.batches_seen += 1
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def build_model(seed=17, **shape):
    torch.manual_seed(seed)
    model = TinyLanguageModel(**shape)
    with torch.no_grad():
        # Tied to the head: with torch's own unit variance the first losses would be far above log(vocabulary).
        model.tok_embeddings.weight.mul_(0.1)
    return model


def take_frozen(model, other):
    """Gives the model the frozen parameters of another; a universal load of stock DeepSpeed does not change them."""
    wanted = dict(other.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                parameter.copy_(wanted[name])


def split_parameters(model):
    """Three param groups: matrices, embeddings (tied to the head), and everything small."""
    matrices, embeddings, small = [], [], []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if "embeddings" in name:
            embeddings.append(parameter)
        elif parameter.dim() > 1 and parameter.numel() > 0:
            matrices.append(parameter)
        else:
            small.append(parameter)
    return matrices, embeddings, small


def make_batch(step, samples, length, vocabulary):
    """Sequences x[t+1] = x[t] + stride (mod vocabulary): learnable, and the same for every world size."""
    generator = torch.Generator().manual_seed(100003 + step)
    start = torch.randint(vocabulary, (samples, 1), generator=generator)
    stride = torch.randint(1, 4, (samples, 1), generator=generator)
    return (start + stride * torch.arange(length + 1)) % vocabulary
