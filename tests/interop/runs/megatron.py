# SPDX-License-Identifier: Apache-2.0
"""A model in tensor slices as Megatron-DeepSpeed keeps them: split by its own layers, with an mpu that knows the ranks,
and patterns that say how slices are merged."""

import torch
from torch import distributed, nn
from torch.nn import functional

WIDTH, HIDDEN = 12, 24


class Mpu:
    """Megatron's model parallel unit: `degree` neighbours hold one model."""

    def __init__(self, degree):
        rank, world = distributed.get_rank(), distributed.get_world_size()
        self.degree = degree
        self.rank = rank
        for start in range(0, world, degree):
            members = list(range(start, start + degree))
            group = distributed.new_group(members)
            if rank in members:
                self.model_group = group
        for start in range(degree):
            members = list(range(start, world, degree))
            group = distributed.new_group(members)
            if rank in members:
                self.data_group, self.data_members = group, members

    def get_model_parallel_rank(self):
        return self.rank % self.degree

    def get_model_parallel_world_size(self):
        return self.degree

    def get_model_parallel_group(self):
        return self.model_group

    # What a universal load requires.
    get_tensor_model_parallel_rank = get_model_parallel_rank
    get_tensor_model_parallel_world_size = get_model_parallel_world_size
    get_tensor_model_parallel_group = get_model_parallel_group

    def get_data_parallel_rank(self):
        return self.rank // self.degree

    def get_data_parallel_world_size(self):
        return len(self.data_members)

    def get_data_parallel_group(self):
        return self.data_group

    def get_data_parallel_group_ranks(self):
        return self.data_members


class _Enter(torch.autograd.Function):
    """Input of sliced layers: the gradients of all slices are summed."""

    @staticmethod
    def forward(context, x, mpu):
        context.mpu = mpu
        return x

    @staticmethod
    def backward(context, gradient):
        gradient = gradient.clone()
        distributed.all_reduce(gradient, group=context.mpu.get_model_parallel_group())
        return gradient, None


class _Leave(torch.autograd.Function):
    """Output of sliced layers: the values of all slices are summed."""

    @staticmethod
    def forward(context, x, mpu):
        x = x.clone()
        distributed.all_reduce(x, group=mpu.get_model_parallel_group())
        return x

    @staticmethod
    def backward(context, gradient):
        return gradient, None


def enter(x, mpu):
    return x if mpu is None else _Enter.apply(x, mpu)


def leave(x, mpu):
    return x if mpu is None else _Leave.apply(x, mpu)


class Cut:
    """Initialises whole tensors and keeps this rank's slice."""

    def __init__(self, mpu):
        self.rank, self.degree = (mpu.get_model_parallel_rank(), mpu.degree) if mpu else (0, 1)

    def take(self, whole, dimension, parts=1):
        pieces = [part.chunk(self.degree, dim=dimension)[self.rank] for part in whole.chunk(parts, dim=dimension)]
        parameter = nn.Parameter(torch.cat(pieces, dim=dimension).clone())
        parameter.tensor_model_parallel = True  # otherwise its norm counts once for all slices
        return parameter


class Layer(nn.Module):

    def __init__(self, mpu):
        super().__init__()
        cut, self.mpu = Cut(mpu), mpu
        self.input_layernorm = nn.LayerNorm(WIDTH)
        self.query_key_value = nn.ParameterDict({"weight": cut.take(torch.randn(3 * WIDTH, WIDTH) * 0.2, 0, parts=3),
                                                 "bias": cut.take(torch.randn(3 * WIDTH) * 0.1, 0, parts=3)})
        self.dense = nn.ParameterDict({"weight": cut.take(torch.randn(WIDTH, WIDTH) * 0.2, 1),
                                       "bias": nn.Parameter(torch.zeros(WIDTH))})
        self.gate_and_up = nn.ParameterDict({"weight": cut.take(torch.randn(2 * HIDDEN, WIDTH) * 0.2, 0, parts=2)})
        self.side = nn.ParameterDict({"weight": cut.take(torch.randn(HIDDEN, WIDTH) * 0.2, 0),
                                      "bias": cut.take(torch.randn(HIDDEN) * 0.1, 0)})
        self.down = nn.ParameterDict({"weight": cut.take(torch.randn(WIDTH, HIDDEN) * 0.2, 1)})
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        inner = enter(self.input_layernorm(x), self.mpu)
        query, key, value = functional.linear(inner, self.query_key_value["weight"],
                                              self.query_key_value["bias"]).chunk(3, dim=-1)
        mixed = torch.sigmoid(query) * torch.tanh(key) + value
        x = x + leave(functional.linear(mixed, self.dense["weight"]), self.mpu) + self.dense["bias"]
        inner = enter(x * self.scale, self.mpu)
        gate, up = functional.linear(inner, self.gate_and_up["weight"]).chunk(2, dim=-1)
        side = functional.linear(inner, self.side["weight"], self.side["bias"])
        return x + leave(functional.linear(functional.silu(gate) * up + side, self.down["weight"]), self.mpu)


class Model(nn.Module):
    """`padding` rows of embedding after the vocabulary, by which Megatron makes its size divisible."""

    def __init__(self, mpu, vocabulary, padding):
        super().__init__()
        cut, self.mpu = Cut(mpu), mpu
        padded = vocabulary + padding
        self.word_embeddings = nn.ParameterDict({"weight": cut.take(torch.randn(padded, WIDTH) * 0.1, 0)})
        self.first_row = cut.rank * (padded // cut.degree)
        self.layers = nn.ModuleList(Layer(mpu) for _ in range(2))
        self.final_layernorm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens):
        local = tokens[:, :-1] - self.first_row
        rows = self.word_embeddings["weight"]
        inside = (local >= 0) & (local < rows.shape[0])
        x = functional.embedding(local.clamp(0, rows.shape[0] - 1), rows) * inside.unsqueeze(-1)
        x = leave(x, self.mpu)
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.final_layernorm(x))
        return functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


class PipelineEmbedding(nn.Module):

    def __init__(self, mpu, padded):
        super().__init__()
        cut, self.mpu = Cut(mpu), mpu
        self.word_embeddings = nn.ParameterDict({"weight": cut.take(torch.randn(padded, WIDTH) * 0.1, 0)})
        self.first_row = cut.rank * (padded // cut.degree)

    def forward(self, tokens):
        local = tokens - self.first_row
        rows = self.word_embeddings["weight"]
        inside = (local >= 0) & (local < rows.shape[0])
        return leave(functional.embedding(local.clamp(0, rows.shape[0] - 1), rows) * inside.unsqueeze(-1), self.mpu)


def pipeline_model(degree, stages, data_ranks, vocabulary, padding, loss_fn):
    """The same layers in a PipelineModule, whose topology puts slices next to each other."""
    from deepspeed.pipe import LayerSpec, PipelineModule
    from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology
    mpu = Mpu(degree) if degree > 1 else None
    layers = [LayerSpec(PipelineEmbedding, mpu, vocabulary + padding), LayerSpec(Layer, mpu), LayerSpec(Layer, mpu),
              LayerSpec(nn.LayerNorm, WIDTH), LayerSpec(nn.Linear, WIDTH, vocabulary, bias=False)]
    topology = PipeModelDataParallelTopology(num_pp=stages, num_mp=degree, num_dp=data_ranks)
    return PipelineModule(layers=layers, topology=topology, loss_fn=loss_fn, partition_method="uniform")


def universal_info(vocabulary, padded, pipeline=False):
    """As Megatron-DeepSpeed's model makes it for engine.save_checkpoint(client_state=...)."""
    # A PipelineModule names layers by their numbers.
    embedding, layer, last = (r"0\.", r"\d+\.", [r"3\.", r"4\.weight"]) if pipeline else ("", r"layers\.\d+\.", ["head"])
    return {
        "universal_checkpoint_version": 0.2,
        "original_vocab_size": vocabulary,
        "padded_vocab_size": padded,
        "vocabulary_parameter_patterns": [embedding + r"word_embeddings\.weight$"],
        "pipeline_replicated_parameter_patterns": [],
        "parameter_to_average_patterns": [layer + "scale"],
        "parameter_with_row_parallelism_patterns": [layer + r"dense\.weight", layer + r"down\.weight"],
        "tp_replicated_parameter_patterns": [r".*layernorm\.(weight|bias)$", layer + r"dense\.bias", *last],
        "parameter_with_2_sub_params_cat_dim_0": [layer + r"gate_and_up\."],
        "parameter_with_sub_params": [
            {"patterns": [layer + r"query_key_value\.weight"], "shape": ((WIDTH, WIDTH, WIDTH), WIDTH),
             "partition_dim": 0},
            {"patterns": [layer + r"query_key_value\.bias"], "shape": (3,), "partition_dim": 0},
        ],
    }


def _slicing(name):
    """The dimension that a parameter's layer slices, and the number of parts of each slice; None if it is not
    sliced."""
    if "query_key_value" in name:
        return 0, 3
    if "gate_and_up" in name:
        return 0, 2
    if name.endswith(("dense.weight", "down.weight")):
        return 1, 1
    return (0, 1) if "word_embeddings" in name or ".side." in name else None


def merged(name, slices):
    """The whole tensor of all slices, by the rules of the parameter's layer."""
    if slicing := _slicing(name):
        dimension, parts = slicing
        return torch.cat([piece for part in zip(*(one.chunk(parts, dim=dimension) for one in slices)) for piece in part],
                         dim=dimension)
    if any(not torch.equal(slices[0], other) for other in slices[1:]):
        raise RuntimeError(f"{name} is not the same in all slices")
    return slices[0]


def cut(name, whole, degree, part):
    """The slice of the whole that the parameter's layer keeps."""
    if slicing := _slicing(name):
        dimension, parts = slicing
        return torch.cat([piece.chunk(degree, dim=dimension)[part] for piece in whole.chunk(parts, dim=dimension)],
                         dim=dimension)
    return whole
