# SPDX-License-Identifier: Apache-2.0
"""The sample checkpoints of tests/data/samples: how each was trained, and what is recorded of the engine that saved
it."""

import hashlib

from runs.parallel_setups import ParallelSetup
from runs.setups import Setup

TRANSFORMER = (("vocabulary", 96), ("width", 32), ("heads", 4), ("layers", 2), ("positions", 16))

# ds_to_universal finds its fragments with glob and takes names for regular expressions: it loses or refuses those with
# [ * or +.
SMALL = (("vocabulary", 16), ("width", 8), ("positions", 4), ("odd_names", ("gain 0", "größe µ", "a#b!c@d%e")))

OWN = "0.19.8"
SAMPLES = {
    OWN: {
        "zero3-w4": (4, Setup(3, "bf16", shape=TRANSFORMER, groups=2, scheduler="steps", sub_group_size=3000), [5]),
        "zero2-w2": (2, Setup(2, "bf16", shape=(("empty_parameter", True),)), [3, 6]),
        "zero1-w2": (2, Setup(1, "fp16", scheduler="steps"), [7]),
        "bf16opt-w2": (2, Setup(1, "bf16", bf16_optimizer=True), [4]),
        "zero2-universal-w2": (2, Setup(2, "fp16", shape=SMALL, scheduler="steps"), [5]),
        "zero3-universal-w3": (3, Setup(3, "bf16", shape=SMALL, sub_group_size=150), [3]),
        "roundrobin-w3": (3, Setup(2, "bf16", round_robin=True), [4]),
        "aligned-w2": (2, Setup(1, "bf16", round_robin=True, aligned=True), [4]),
        "elastic-w3": (3, Setup(2, "bf16", elastic=True, shape=SMALL), [4]),
        "zenflow-w2": (2, Setup(2, "bf16", "cpuadam", offload=True, zenflow="active", shape=SMALL), [5]),
        "muon-w3": (3, Setup(2, "bf16", "muon", shape=SMALL), [3]),
        "stage0-fp32": (2, Setup(0, "fp32", shape=SMALL), [4]),
        "stage0-bf16": (2, Setup(0, "bf16", shape=SMALL), [4]),
        "stage0-adafactor": (2, Setup(0, "fp32", "adafactor", shape=SMALL), [3]),
        "stage0-fp16": (2, Setup(0, "fp16", "fusedadam", shape=SMALL, scheduler="steps"), [7]),
    },
    "0.14.4": {
        "ds0144-zero3-w3": (3, Setup(3, "fp16", sub_group_size=300), [7]),
        "ds0144-zero2-w2": (2, Setup(2, "fp16"), [7]),
        "ds0144-bf16opt-w2": (2, Setup(1, "bf16", bf16_optimizer=True), [4]),
    },
    # Its ZenFlow stores matrices column by column, and raises if a rank's share ends within a vector: one group has
    # all vectors at its end, on the last rank.
    "0.19.2": {
        "ds0192-zenflow-w2": (2, Setup(2, "bf16", "cpuadam", offload=True, zenflow="active", shape=SMALL, groups=1), [5]),
        "ds0192-zenflow-w3": (3, Setup(1, "fp32", "cpuadam", offload=True, zenflow="active", shape=SMALL, groups=1), [4]),
    },
}

# Written by make_old_samples.py, with releases that today's PyTorch does not run.
OLD_SAMPLES = {
    "ds0310-zero2-w2": (2, Setup(2, "fp16", shape=SMALL, scheduler="steps"), [7]),
    "ds045-zero2-w3": (3, Setup(2, "fp16", shape=SMALL, scheduler="steps"), [7]),
    "ds053-zero3-w3": (3, Setup(3, "fp16", shape=SMALL, scheduler="steps", sub_group_size=100), [7]),
    "ds0510-zero2-w3": (3, Setup(2, "fp16", shape=SMALL, scheduler="steps"), [7]),
    "ds067-zero1-w2": (2, Setup(1, "bf16", shape=SMALL, scheduler="steps"), [4]),
    "ds083-zero3-w2": (2, Setup(3, "fp16", shape=SMALL, scheduler="steps"), [7]),
    "ds0103-bf16opt-w2": (2, Setup(1, "bf16", shape=SMALL, scheduler="steps", bf16_optimizer=True), [4]),
    "ds0135-zero2-w3": (3, Setup(2, "fp16", shape=SMALL, scheduler="steps"), [7]),
}

# Ranks that do not all hold the same parameters.
PARALLEL = {
    "experts-w4": (4, ParallelSetup("experts", 2, "bf16"), [3]),
    "autoep-w4": (4, ParallelSetup("autoep", 2, "bf16", experts=(4, 4)), [3]),
    "autoep-zero3-w4": (4, ParallelSetup("autoep", 3, "bf16", experts=(4, 4)), [3]),
    "folded-w4": (4, ParallelSetup("autoep", 2, "bf16", degree=4, experts=(4, 4), slices=2), [3]),
    "folded-zero3-w4": (4, ParallelSetup("autoep", 3, "bf16", experts=(4, 4), slices=2), [3]),
    "pipeline-w4": (4, ParallelSetup("pipeline", 1, "bf16"), [3]),
    "slices-w4": (4, ParallelSetup("slices", 1, "bf16"), [3]),
    "stage0-slices-w2": (2, ParallelSetup("megatron", 0, "bf16"), [3]),
    "stage0-pipeline-fp32-w2": (2, ParallelSetup("pipeline", 0, "fp32"), [3]),
    "stage0-pipeline-fp16-w2": (2, ParallelSetup("pipeline", 0, "fp16"), [3]),
    "stage0-pipeline-bf16-w4": (4, ParallelSetup("pipeline", 0, "bf16"), [3]),
    "megatron-w2": (2, ParallelSetup("megatron", 1, "bf16", padding=2), [2, 3]),
}

# The last release whose model files with experts list no shapes.
OLD_PARALLEL = {"0.19.2": {"ds0192-experts-w4": (4, ParallelSetup("experts", 2, "bf16"), [3]),
                           "ds0192-autoep-w4": (4, ParallelSetup("autoep", 2, "bf16", experts=(4, 4)), [3])}}

# They also hold their last tag in the form of DeepSpeed's own converter.
CONVERTED = ("zero2-universal-w2", "zero3-universal-w3")


def _tensor(dtype, data):
    return {"dtype": dtype.removeprefix("torch."), "sha256": hashlib.sha256(data).hexdigest()}


def describe(whole):
    """The expected content for readers: every tensor's digest and every scalar, as the live engine held them."""
    parameters, weights, scalars = {}, {}, {}
    for label, value in whole.items():
        if isinstance(value, bytes):
            name, _, state = label.rpartition("#")
            entry = parameters.setdefault(name, {"group": whole[f"group of {name}"],
                                                 "elements": whole[f"elements of {name}"], "states": {}})
            entry["states"][state] = _tensor(whole[f"dtype of {label}"], value)
        elif label.startswith("weight "):
            dtype, shape, data = value
            weights[label.removeprefix("weight ")] = {"shape": list(shape), **_tensor(dtype, data)}
        elif label.startswith("scalar "):
            scalars[label.removeprefix("scalar ")] = repr(value)
    return {"parameters": parameters, "weights": weights, "scalars": scalars}
