# SPDX-License-Identifier: Apache-2.0
"""What a torch file holds, apart from how its pickle spells it: equal digests mean that loading gives equal objects.

Order of keys, types, shapes, strides, bytes of storages and which tensors share a storage count. Names of storage records
and whether two places refer to one string or tuple do not. Nothing of the file is executed: classes are stand-ins.
"""

import hashlib
import io
import pickle
import zipfile


class StandIn:
    """An instance, or the result of a call, of any class or function."""

    label = ""

    def __new__(cls, *arguments, **_):
        made = object.__new__(cls)
        made.parts = {"arguments": arguments, "items": [], "list": [], "state": None}
        return made

    def __init__(self, *_, **__):
        pass

    def __setstate__(self, state):
        self.parts["state"] = state

    def __setitem__(self, key, value):
        self.parts["items"].append((key, value))

    def append(self, value):
        self.parts["list"].append(value)

    def extend(self, values):
        self.parts["list"].extend(values)


class Storage:
    def __init__(self, kind, key, location, elements):
        self.kind, self.key, self.location, self.elements = kind, key, location, elements


class Reader(pickle.Unpickler):
    classes = {}

    def find_class(self, module, name):
        label = f"{module}.{name}"
        if label not in self.classes:
            self.classes[label] = type("StandIn", (StandIn,), {"label": label})
        return self.classes[label]

    def persistent_load(self, identifier):
        _, kind, key, location, elements = identifier
        return Storage(kind.label, key, location, elements)


class Digests:
    def __init__(self, archive, folder):
        self.archive, self.folder = archive, folder
        self.order = {}  # storage key -> number of its first use

    def storage(self, value):
        first = value.key not in self.order
        number = self.order.setdefault(value.key, len(self.order))
        data = self.archive.read(f"{self.folder}/data/{value.key}") if first else b""
        return ("storage", value.kind, value.location, value.elements, number, hashlib.sha256(data).hexdigest())

    def of(self, value):
        if isinstance(value, Storage):
            parts = self.storage(value)
        elif isinstance(value, type):
            parts = ("name", value.label)
        elif isinstance(value, StandIn):
            parts = ("instance", value.label, *(self.of(value.parts[key]) for key in ("arguments", "items", "list", "state")))
        elif isinstance(value, dict):
            parts = ("dict", *((self.of(key), self.of(item)) for key, item in value.items()))
        elif isinstance(value, (list, tuple)):
            parts = (type(value).__name__, *(self.of(item) for item in value))
        elif isinstance(value, (set, frozenset)):
            parts = (type(value).__name__, *sorted(self.of(item) for item in value))
        else:
            parts = (type(value).__name__, repr(value))
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def content_digest(data):
    """Of a torch file in zip form; None for other data."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        return None
    name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
    if name is None:
        return None
    value = Reader(io.BytesIO(archive.read(name))).load()
    return Digests(archive, name.rsplit("/", 1)[0]).of(value)
