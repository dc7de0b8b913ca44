#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pickles next to this file: data.pkl streams as torch.save and CPython write them.

Needs torch, DeepSpeed and numpy. Usage: make.py [OUTPUT_FOLDER]. The tests demand that Shardscope writes each
stream back byte for byte.
"""
import argparse
import collections
import copy
import enum
import fractions
import functools
import io
import pathlib
import pickle
import random
import sys
import zipfile

import numpy
import torch
from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler, LossScaler
from deepspeed.runtime.zero.config import ZeroStageEnum
from deepspeed.utils.tensor_fragment import fragment_address


class Outer:
    class Inner:
        def __init__(self):
            self.value = 1


class Slotted:
    __slots__ = ("left", "right")


class Node:
    pass


class Bag(list):
    pass


class Registry(dict):
    pass


class WithNewArgs:
    def __new__(cls, first, *, second=0):
        return super().__new__(cls)

    def __getnewargs_ex__(self):
        return (1,), {"second": 2}


class WithSetter:
    """Its state is set by a function: the sixth element of a reduce tuple."""

    def __init__(self):
        self.value = 7

    def __reduce__(self):
        return WithSetter, (), {"value": self.value}, None, None, set_state


def set_state(target, state):
    target.__dict__.update(state)


class Color(enum.Enum):
    RED = "red"


def torch_stream(value):
    """The data.pkl of torch.save(value)."""
    out = io.BytesIO()
    torch.save(value, out)
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as archive:
        name = next(n for n in archive.namelist() if n.endswith("/data.pkl"))
        return archive.read(name)


def plain(value, protocol=2):
    """What CPython's C pickler writes."""
    out = io.BytesIO()
    pickle.Pickler(out, protocol=protocol).dump(value)
    return out.getvalue()


def optimizer_states():
    flat = torch.arange(12, dtype=torch.float32)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    slice_mapping = collections.OrderedDict()
    for position, (name, parameter) in enumerate(model.named_parameters()):
        slice_mapping[name] = fragment_address(numel=parameter.numel(), start=position * 6)
    scaler = DynamicLossScaler(2.0**16, 1000, 1e-3, 2, False, True, torch.half)
    return {
        "optimizer_state_dict": {
            "loss_scaler": scaler,
            "static_scaler": LossScaler(scale=1.0),
            "dynamic_loss_scale": True,
            "overflow": False,
            "clip_grad": 1.0,
            "base_optimizer_state": {
                "state": {0: {"step": torch.tensor(3.0), "exp_avg": flat[:6], "exp_avg_sq": flat[6:]}},
                "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0,
                                  "bias_correction": True, "params": [0]}],
            },
            "single_partition_of_fp32_groups": [flat],
            "zero_stage": ZeroStageEnum.gradients,
            "group_paddings": [0],
            "partition_count": [2, 2],
            "ds_version": "0.19.8",
            "param_slice_mappings": [slice_mapping],
        },
        "ds_config": {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}},
        "ds_version": "0.19.8",
    }


def model_states():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    state = model.state_dict()
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    parameter.ds_id = 7
    base = torch.zeros(10)
    return {
        "module": state,
        "param_shapes": [collections.OrderedDict((n, p.shape) for n, p in model.named_parameters())],
        "buffer_names": ["1.running_mean"],
        "frozen_param_shapes": None,
        "shared_params": {"1.weight": "0.bias"},
        "parameter": parameter,
        "tied": [base, base, base[2:5], base[::2], base.view(2, 5).t()],
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 4),
        "dtypes": [torch.float16, torch.bfloat16],
        "kinds": [torch.zeros(2, dtype=d) for d in (torch.float64, torch.float16, torch.bfloat16, torch.int64,
                  torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64,
                  torch.complex128, torch.uint16, torch.float8_e4m3fn, torch.float8_e5m2)],
        "device": torch.device("cpu"),
        "rng": torch.get_rng_state()[:16].clone(),
        "args": argparse.Namespace(lr=0.1, layers=[1, 2, 3], name="modèle", nested=argparse.Namespace(a=1)),
        "global_steps": 1234567890123,
        "mp_world_size": 1,
    }


def client_state():
    shared = "".join(["sha", "red"])
    equal = "".join(["sha", "red"])
    recursive = [1, 2]
    recursive.append(recursive)
    loop = {}
    loop["self"] = loop
    inner = []
    recursive_tuple = (1, inner)
    inner.append(recursive_tuple)
    inner4 = []
    recursive_tuple4 = (1, 2, 3, inner4)
    inner4.append(recursive_tuple4)
    ring = Node()
    ring.members = {ring}
    ring.frozen = frozenset([1, 2])
    default = collections.defaultdict(list)
    default["a"].append(1)
    slotted = Slotted()
    slotted.left, slotted.right = 1, [2]
    bag = Bag([1, 2, 3])
    bag.note = "a list with attributes"
    registry = Registry(a=1)
    registry.note = registry
    random.seed(5)
    numpy.random.seed(5)
    random_state = random.getstate()
    return {
        "shared": [shared, equal, shared, equal],
        "recursive": recursive,
        "loop": loop,
        "recursive_tuple": recursive_tuple,
        "recursive_tuple4": recursive_tuple4,
        "ring": ring,
        "sets": [set(), {1}, {1, 2, 3}, frozenset()],
        "ints": [0, 1, 255, 256, 65535, 65536, -1, -128, -129, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**40, 2**63 - 1,
                 2**63, -2**63, -2**63 - 1, 2**64, -2**64, 3**200, -3**200, 2**2039, 2**2040, -2**2047, 10**700],
        "floats": [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 5e-324, 1e308],
        "text": ["", "ascii", "ä€😀", "nul\0", "\ud800 lone", "\u202e"],
        "bytes": [b"", b"abc", bytes(range(256)), bytearray(b"xyz"), bytearray()],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ((),))],
        "partial": functools.partial(max, 1, key=None),
        "nested": Outer.Inner(),
        "nested_class": [Outer.Inner, Outer.Inner, Outer],
        "types": [int, list, type(None), type(...), ..., NotImplemented, print, len],
        "range": range(1, 10, 2),
        "slice": slice(1, None, 2),
        "complex": 1 + 2j,
        "fraction": fractions.Fraction(1, 3),
        "default": default,
        "counter": collections.Counter("abca"),
        "ordered": collections.OrderedDict([("x", 1)]),
        "deque": collections.deque([1, 2], maxlen=5),
        "slotted": slotted,
        "bag": bag,
        "registry": registry,
        "new_args": WithNewArgs(1),
        "setter": [WithSetter(), WithSetter()],
        "color": [Color.RED, ZeroStageEnum.weights],
        "random": (random_state[0], random_state[1][:40], random_state[2]),
        "numpy": [numpy.arange(6, dtype="f4").reshape(2, 3), numpy.float64(1.5), numpy.int64(-3), numpy.bool_(True),
                  numpy.dtype("i2"), numpy.array(["a", "bc"]), numpy.random.get_state()[0],
                  numpy.random.get_state()[1][:20]],
    }


def large():
    """Batches of 1000 and memo indices beyond 256, for plain and for called containers."""
    sizes = (0, 1, 2, 999, 1000, 1001, 2000)
    return [
        [[None] * n for n in (*sizes, 2001)],
        [{i: None for i in range(n)} for n in (*sizes, 2001)],
        [collections.OrderedDict((i, None) for i in range(n)) for n in (0, 1, 2, 1000, 1001, 2001)],
        [collections.deque([None] * n) for n in sizes],
        [Bag([None] * n) for n in (*sizes, 2001)],
        [[str(i)] for i in range(300)],
    ]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for cls in (Outer, Outer.Inner, Slotted, Node, Bag, Registry, WithNewArgs, WithSetter, Color):
        cls.__module__ = "client"
    set_state.__module__ = "client"
    sys.modules["client"] = sys.modules[__name__]
    torch.manual_seed(1)
    client = client_state()
    streams = {
        "optimizer_states": torch_stream(optimizer_states()),
        "model_states": torch_stream(model_states()),
        "client_state": torch_stream(copy.copy(client)),
        "large": plain(large()),
        "scalar": plain(5),
        "empty_tuple": plain(()),
    }
    portable = {k: client[k] for k in ("shared", "recursive", "loop", "recursive_tuple", "sets", "ints", "floats", "text",
                                       "bytes", "tuples", "nested_class", "ordered", "color")}
    for protocol in (0, 1, 3, 4, 5):
        streams[f"protocol{protocol}"] = plain(portable, protocol)
    for name, stream in streams.items():
        (folder / f"{name}.pkl").write_bytes(stream)
        print(f"{name}.pkl {len(stream)}")


if __name__ == "__main__":
    main()
