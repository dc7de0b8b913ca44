# SPDX-License-Identifier: Apache-2.0
"""The assertions, and their messages if they fail."""

import json
import pickle

import torch

from runs.sources import CLIENT_STATE

TOLERANCE = {"fp32": 1e-6, "bf16": 2e-4, "fp16": 2e-4}


class Failure(RuntimeError):
    """A checkpoint or a run is not as expected."""


ANY = object()  # any value that differs


def same_state_but(before, after, expected):
    """Equal bit for bit except the labels of `expected`, which must have its values now."""
    from compare import live_state
    found = live_state.differences(before, after, ignore=expected)
    for label, value in expected.items():
        if label not in after:
            found.append(f"{label}: expected another value, found none")
        elif after[label] == before.get(label):
            found.append(f"{label}: expected another value, found the same")
        elif value is not ANY and after[label] != value:
            found.append(f"{label}: expected {str(value)[:80]}, found {str(after[label])[:80]}")
    if found:
        more = f"\n  and {len(found) - 8} more" if len(found) > 8 else ""
        raise Failure(f"{len(found)} differences after loading:\n  " + "\n  ".join(found[:8]) + more)
    return sum(isinstance(value, bytes) for value in before.values())


def same_state(before, after):
    return same_state_but(before, after, {})


def _in_noted_types(state, weights):
    """Older versions cast buffers to the model's precision, newer ones load them into fp32, which holds the same."""
    state = dict(state)
    for name, noted in weights.items():
        dtype, shape, data = state[f"weight {name}"]
        if dtype == "torch.float32" and noted["dtype"] in ("float16", "bfloat16"):
            cast = torch.frombuffer(bytearray(data), dtype=torch.float32).to(getattr(torch, noted["dtype"]))
            state[f"weight {name}"] = (f"torch.{noted['dtype']}", shape, cast.view(torch.uint8).numpy().tobytes())
    return state


def same_as_noted(sample, state):
    """Compares a merged live state with NAME.json next to the sample, for the tag that `latest` names."""
    from runs import golden
    noted = json.loads(sample.with_suffix(".json").read_text(encoding="utf-8"))["tags"][(sample / "latest").read_text()]
    found = golden.describe(_in_noted_types(state, noted["weights"]))
    # Values that an older engine did not have are recorded as None.
    absent = [key for key, value in noted["scalars"].items() if value == repr(("NoneType", "None"))]
    for key in absent:
        noted["scalars"].pop(key)
        found["scalars"].pop(key, None)
    for part in ("parameters", "weights", "scalars"):
        if noted[part] != found[part]:
            wrong = sorted(key for key in noted[part].keys() | found[part].keys()
                           if noted[part].get(key) != found[part].get(key))
            raise Failure(f"{part} differ from what was noted: {wrong[:8]}")
    return sum(len(entry["states"]) for entry in found["parameters"].values()) + len(found["weights"])


def same_client_state(loaded):
    wrong = [key for key, value in CLIENT_STATE.items() if loaded.get(key) != value]
    if wrong:
        raise Failure(f"client state differs in {wrong}")


def losses_track(expected, actual, tolerance):
    deviation = max(abs(a - e) / abs(e) for e, a in zip(expected, actual, strict=True))
    if not deviation <= tolerance:
        raise Failure(f"losses {actual} do not track {expected}: relative deviation {deviation:.2e} is above {tolerance:g}")
    return deviation


def role_of(path):
    return "optimizer" if path.name.endswith("optim_states.pt") else "model"


def _accepted(path):
    try:
        torch.load(path, weights_only=True, map_location="cpu")
        return True
    except pickle.UnpicklingError:
        return False


def same_trust(source, target):
    """Files that torch.load(weights_only=True) accepted are still accepted, and no file needs new classes."""
    trust, classes = {}, {}
    for path in source.rglob("*.pt"):
        role = role_of(path)
        trust[role] = trust.get(role, True) and _accepted(path)
        classes.setdefault(role, set()).update(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    for path in target.rglob("*.pt"):
        role = role_of(path)
        if trust[role] and not _accepted(path):
            raise Failure(f"torch.load(weights_only=True) refuses {path.name}, and took the source's {role} files")
        added = set(torch.serialization.get_unsafe_globals_in_checkpoint(path)) - classes[role]
        if added:
            raise Failure(f"{path.name} names classes that the source does not: {sorted(added)}")


def same_files(left, right, ignore=("shardscope.json",)):
    def listing(folder):
        return {str(path.relative_to(folder)): path for path in folder.rglob("*")
                if path.is_file() and path.name not in ignore}
    ours, theirs = listing(left), listing(right)
    if ours.keys() != theirs.keys():
        raise Failure(f"file names differ: {sorted(ours.keys() ^ theirs.keys())}")
    for name, path in ours.items():
        if path.read_bytes() != theirs[name].read_bytes():
            raise Failure(f"{name} differs")
    return len(ours)


def same_payload(left, right, same_mappings=True, without=None):
    from compare import payload
    return payload.compare(left, right, same_mappings, without)


def same_stock_export(left, right, same_order=True):
    """DeepSpeed's own merge to fp32 reads both folders and gives the same values."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
    ours, theirs = (get_fp32_state_dict_from_zero_checkpoint(str(folder)) for folder in (left, right))
    if (list(ours) != list(theirs)) if same_order else ours.keys() != theirs.keys():
        raise Failure(f"zero_to_fp32 finds other names: {sorted(ours.keys() ^ theirs.keys())}")
    wrong = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    if wrong:
        raise Failure(f"zero_to_fp32 finds other values in {wrong}")
    return len(ours)


def change_one_element(folder):
    """Flips one bit of one first moment in one rank's file, in place; torch checks no CRC and loads it."""
    tag = (folder / "latest").read_text()
    path = sorted((folder / tag).glob("*zero_pp_rank_1_*optim_states.pt"))[0]
    state = torch.load(path, weights_only=False, map_location="cpu")["optimizer_state_dict"]
    nested = state.get("optimizer_state_dict") or state["base_optimizer_state"]
    needle = nested["state"][0]["exp_avg"].numpy().tobytes()
    data = bytearray(path.read_bytes())
    at = data.find(needle)
    if at < 0 or data.find(needle, at + 1) >= 0:
        raise Failure(f"{path.name}: cannot find the first moment")
    data[at] ^= 1
    path.write_bytes(data)
