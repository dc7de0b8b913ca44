# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a training state as core/compare/fingerprint.h and state_digest.h define it, from the joined live
state of stock DeepSpeed (live_state.join): what shardscope prints for a checkpoint must be this."""

import ast
import hashlib

import numpy

GOLDEN, FIRST, SECOND = (numpy.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
KEPT_WITHOUT_ZERO = ("cur_scale", "dynamic", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window")


def _mix(z):
    z = (z ^ (z >> numpy.uint64(30))) * FIRST
    z = (z ^ (z >> numpy.uint64(27))) * SECOND
    return z ^ (z >> numpy.uint64(31))


def digest(name, state, data, width=1):
    key = numpy.frombuffer(hashlib.sha256(f"{name}\0{state}".encode()).digest()[:16], "<u8")
    bits = numpy.frombuffer(data, f"<u{width}").astype(numpy.uint64)
    at = numpy.arange(bits.size, dtype=numpy.uint64) * GOLDEN
    low, high = (sum(map(int, _mix((at + k) ^ bits))) for k in key)
    return (low + (high << 64)) % 2**128


def text(value):
    kind, *rest = value
    if kind == "dict":
        return "{" + ",".join(sorted(f'"{key}":{text(item)}' for key, item in rest[0])) + "}"
    if kind in ("list", "tuple"):
        return "[" + ",".join(map(text, rest[0])) + "]"
    if kind == "str":
        return '"' + ast.literal_eval(rest[0]).replace("\\", "\\\\").replace('"', '\\"') + '"'
    spelled = {"float": lambda: f"{float.fromhex(rest[0]):.17g}", "NoneType": lambda: "null", "int": lambda: rest[0],
               "bool": rest[0].lower, "dtype": lambda: f"<{rest[0]}>"}
    return spelled[kind]()


def _number(step):
    return numpy.frombuffer(step[3], step[1].removeprefix("torch."))[0] if step[0] == "tensor" else int(step[1])


def _scaler(state):
    config = dict(state.get("scalar loss_scale_config", ("dict", ()))[1])
    if config:
        config["dynamic"] = config["dynamic_loss_scale"]
        config = {key: config[key] for key in KEPT_WITHOUT_ZERO if key in config}
    elif state["scalar loss_scaler"]:
        config = dict(state["scalar loss_scaler"][1][1])
    constant = not config or config.get("dynamic") != ("bool", "True")
    return {} if constant and config.get("cur_scale", ("float", "0x1.0000000000000p+0")) == ("float", (1.0).hex()) else config


def parts(state):
    """(name, state) -> digest of everything that is part of it."""
    found = {}
    for label, value in state.items():
        name, _, kind = label.rpartition("#")
        if isinstance(value, bytes) and value:
            found[name, kind] = digest(name, kind, value, len(value) // state[f"elements of {name}"])
        kind, _, name = label.partition(" ")
        if kind == "weight" and f"{name}#fp32" not in state and value[2]:
            found[name, "weight"] = digest(name, "weight", value[2], len(value[2]) // numpy.prod(value[1], dtype=int))
        number, _, option = name.removeprefix("group ").partition(" ")
        if kind == "scalar" and name.startswith("group ") and option != "step":
            found[f"group/{number}", f"option/{option}"] = digest(f"group/{number}", f"option/{option}",
                                                                  text(value).encode())
        elif kind == "scalar" and name.endswith(" step") and not name.startswith("group "):
            group = f"group/{state['group of ' + name.removesuffix(' step')]}"
            found[group, "step"] = digest(group, "step", f"{_number(value):.17g}".encode())
    for key, value in _scaler(state).items():
        found["scaler", key] = digest("scaler", key, text(value).encode())
    if state["scalar lr_scheduler"] != ("NoneType", "None"):
        found["lr_scheduler", ""] = digest("lr_scheduler", "", text(state["scalar lr_scheduler"]).encode())
    return found


def fingerprint(state):
    return f"{sum(parts(state).values()) % 2**128:032x}"
