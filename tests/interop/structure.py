# SPDX-License-Identifier: Apache-2.0
"""Compares two checkpoints of one world size in all but the values of their tensors."""

import torch

# The configuration of the run that saved goes along as it is; older readers look for what a newer run leaves out.
CARRIED = ("ds_config",)


class StructureDiffers(RuntimeError):
    """A checkpoint does not look like one that stock DeepSpeed saves."""


def _walk(value, where, found):
    if torch.is_tensor(value):
        attributes = getattr(value, "__dict__", {})
        found[where] = f"{value.dtype} {tuple(value.shape)} {value.stride()} grad={value.requires_grad} {attributes}"
    elif isinstance(value, dict):
        found[where] = f"{type(value).__name__} of {[key for key in value if key not in CARRIED]}"
        for key, item in value.items():
            if key not in CARRIED:
                _walk(item, f"{where}/{key}", found)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        found[where] = f"{type(value).__name__} of {len(value)}"
        for index, item in enumerate(value):
            _walk(item, f"{where}[{index}]", found)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        found[where] = type(value).__name__
        _walk(vars(value), f"{where}.__dict__", found)
    else:
        found[where] = f"{type(value).__name__} {value!r}"


def describe(folder):
    """File and place in it -> kind, and value of what is no tensor; of the tag that `latest` names."""
    found = {}
    for path in sorted((folder / (folder / "latest").read_text()).rglob("*.pt")):
        _walk(torch.load(path, weights_only=False, map_location="cpu"), path.name, found)
    return found


def compare(stock, ours):
    expected, found = describe(stock), describe(ours)
    wrong = [f"{where}: {expected.get(where, 'absent')} of stock is {found.get(where, 'absent')}"
             for where in sorted(expected.keys() | found.keys()) if expected.get(where) != found.get(where)]
    if wrong:
        raise StructureDiffers(f"{len(wrong)} differences:\n  " + "\n  ".join(wrong[:12]))
    return len(expected)
