# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a training state as core/tensor/element_digest.h and state_digest.h define it, from the merged
live state of stock DeepSpeed (live_state.merge): shardscope must print the same for a checkpoint."""

import ast
import hashlib

import numpy

KEPT_WITHOUT_ZERO = ("cur_scale", "dynamic", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window")


def _odd_mix(z):
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> numpy.uint64(shift))) * numpy.uint64(factor)
    return (z ^ (z >> numpy.uint64(31))) | numpy.uint64(1)


def digest(name, state, data, width=1):
    key = [int(k) for k in numpy.frombuffer(hashlib.sha256(f"{name}\0{state}".encode()).digest(), "<u8")]
    words = numpy.frombuffer(data + bytes(-len(data) % 4), "<u4").astype(numpy.uint64)
    at = numpy.arange(words.size, dtype=numpy.uint64)
    golden, block = numpy.uint64(0x9E3779B97F4A7C15), numpy.uint64(1024)
    lanes = []
    for lane in (0, 1):
        inside, outside = (golden * (numpy.uint64(2) * n + numpy.uint64(lane + 1)) for n in (at % block, at // block))
        total = int((_odd_mix(inside) * _odd_mix(~outside) * words).sum(dtype=numpy.uint64))
        lanes.append(((key[lane] | 1) * total + key[2 + lane] * (len(data) // int(width))) % 2**64)
    return lanes[0] | lanes[1] << 64


def total(digests):
    """The sum of digests: each half modulo 2^64."""
    digests = list(digests)
    return sum(d % 2**64 for d in digests) % 2**64 | sum(d >> 64 for d in digests) % 2**64 << 64


def text(value):
    kind, *rest = value
    if kind == "dict":
        return "{" + ",".join(sorted(f'"{key}":{text(item)}' for key, item in rest[0])) + "}"
    if kind in ("list", "tuple"):
        return "[" + ",".join(map(text, rest[0])) + "]"
    if kind == "str":
        return '"' + ast.literal_eval(rest[0]).replace("\\", "\\\\").replace('"', '\\"') + '"'
    return {"float": lambda: f"{float.fromhex(rest[0]):.17g}", "NoneType": lambda: "null", "int": lambda: rest[0],
            "bool": lambda: rest[0].lower(), "dtype": lambda: f"<{rest[0]}>"}[kind]()


def _scaler(state):
    config = dict(state.get("scalar loss_scale_config", ("dict", ()))[1])  # of a run without ZeRO
    if config:
        config = {key: config["dynamic_loss_scale" if key == "dynamic" else key] for key in KEPT_WITHOUT_ZERO}
    elif state["scalar loss_scaler"]:
        config = dict(state["scalar loss_scaler"][1][1])
    constant = config.get("dynamic") != ("bool", "True") and config.get("cur_scale") == ("float", (1.0).hex())
    return {} if constant else config


def parts(state):
    """(name, state) -> digest of everything that is part of it."""
    found, scalars = {}, {("scaler", key): text(value) for key, value in _scaler(state).items()}
    for label, value in state.items():
        (name, _, kind), (sort, _, rest) = label.rpartition("#"), label.partition(" ")
        number, _, option = rest.removeprefix("group ").partition(" ")
        if isinstance(value, bytes) and value:
            found[name, kind] = digest(name, kind, value, len(value) // state[f"elements of {name}"])
        elif sort == "weight" and f"{rest}#fp32" not in state and value[2]:
            found[rest, "weight"] = digest(rest, "weight", value[2], len(value[2]) // numpy.prod(value[1], dtype=int))
        elif sort == "scalar" and rest.startswith("group ") and option != "step":
            scalars[f"group/{number}", f"option/{option}"] = text(value)
        elif sort == "scalar" and rest.endswith(" step") and not rest.startswith("group "):
            step = numpy.frombuffer(value[3], value[1].removeprefix("torch."))[0] if value[0] == "tensor" else int(value[1])
            scalars[f"group/{state['group of ' + rest.removesuffix(' step')]}", "step"] = f"{step:.17g}"
    if state["scalar lr_scheduler"] != ("NoneType", "None"):
        scalars["lr_scheduler", ""] = text(state["scalar lr_scheduler"])
    return found | {part: digest(*part, spelled.encode()) for part, spelled in scalars.items()}


def fingerprint(state):
    return f"{total(parts(state).values()):032x}"
