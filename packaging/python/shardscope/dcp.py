# SPDX-License-Identifier: Apache-2.0
"""Loads a DeepSpeed checkpoint with torch.distributed.checkpoint, into FSDP2 at any number of ranks, without a copy.

    from shardscope.dcp import StorageReader

    state = {"model": model_state, "optim": optimizer_state}      # of get_state_dict(model, optimizer)
    dcp.load(state, storage_reader=StorageReader("runs/llama"))

The same by its address, for code that takes no reader: `dcp.load(state, checkpoint_id="shardscope://runs/llama")`.

Weights are the fp32 masters, where the checkpoint has them. Each rank reads only the boxes of its own shards.
"""

import dataclasses
import io
import os
import pickle
import tempfile
import uuid
import warnings
from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch.distributed.checkpoint import StorageReader as TorchReader
from torch.distributed.checkpoint.metadata import BytesStorageMetadata, Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem
from torch.futures import Future

from .commands import Option, option_words
from .errors import ShardscopeError
from .server import Server

PathLike = Union[str, "os.PathLike[str]"]
Stored = Union[TensorStorageMetadata, BytesStorageMetadata]

_AT_ONCE = 32  # requests: enough to keep the reader busy
_BYTES_AT_ONCE = 256 << 20  # of their boxes
_PACKED = "__0_0.distcp"  # of the planned files, the one with all values that are not tensors of the model


class Dialect(NamedTuple):
    """How a framework names what it saves."""

    model: str  # in front of a parameter's name
    optimizer: str  # in front of `state.` and `param_groups.`
    by_parameter: bool = False  # param groups: options of each parameter in place of numbered groups


#: The names of get_state_dict() in a mapping with `model` and `optim`; of accelerate and the Trainer of transformers, and
#: VeOmni; of torchtitan; of NeMo Automodel; of PyTorch's recipe with an application state; of prime-rl.
DIALECTS = {
    "torch": Dialect("model.", "optim."),
    "accelerate": Dialect("model.", "optimizer."),
    "torchtitan": Dialect("", "optimizer.", True),
    "automodel": Dialect("", "optim.", True),
    "recipe": Dialect("app.model.", "app.optim."),
    "prime-rl": Dialect("app.model.", "app.optimizers."),
}
_OWN = "torch"  # in which the planned files are named


class OptionWarning(UserWarning):
    """Options of the optimizer that the checkpoint does not have keep their values."""


class Source:
    """A checkpoint as the distributed one that `shardscope convert --to dcp` would write; nothing is written."""

    def __init__(self, path: PathLike, dialect: Optional[str], options: Mapping[str, Option]) -> None:
        if dialect is not None and dialect not in DIALECTS:
            raise ShardscopeError(
                "usage", f"there is no dialect `{dialect}`", None, "it is one of " + ", ".join(DIALECTS), 2
            )
        self.dialect = dialect
        self._server = Server()
        try:
            self._plan = self._planned(os.fspath(path), options)
            self._files: Dict[str, bytes] = {}
            found = _Metadata(io.BytesIO(self._file(".metadata"))).load()
            self._places = {index.fqn: place for index, place in found.storage_data.items()}
            self.stored: Mapping[str, Stored] = found.state_dict_metadata
            self._paths: Mapping[str, Tuple[Any, ...]] = found.planner_data
            self._groups: Optional[Dict[str, int]] = None
        except BaseException:
            self.close()
            raise

    def _planned(self, path: str, options: Mapping[str, Option]) -> int:
        absent = os.path.join(tempfile.gettempdir(), f"shardscope-{uuid.uuid4().hex}")  # is never made
        words = ["plan", "convert", "--to", "dcp", "--output", "-"]
        for name, value in options.items():
            words += option_words("convert", name, value)
        text = bytearray()
        answer = self._server.answer([*words, "--", path, absent], text.extend)
        self.plan_id: str = answer["plan"]["id"]
        plan = self._server.send("plan", bytes(text))
        self._server.wait(plan)
        return plan

    def close(self) -> None:
        self._server.close()

    def native(self, key: str) -> Optional[str]:
        """The key, in the dialect of the planned files, of what a key means. Usage if dialects differ in that."""
        dialects = DIALECTS if self.dialect is None else {self.dialect: DIALECTS[self.dialect]}
        found = {name: self._in(dialect, key) for name, dialect in dialects.items()}
        different = {native for native in found.values() if native in self.stored}
        if len(different) > 1:
            names = [name for name, native in found.items() if native in different]
            raise ShardscopeError(
                "usage", f"`{key}` has different meanings in the dialects {', '.join(names)}", None,
                "name the dialect", 2,
            )
        return next(iter(different), None)

    def _in(self, dialect: Dialect, key: str) -> Optional[str]:
        if key.startswith("deepspeed."):
            return key
        if key.startswith(dialect.optimizer + "state."):
            return "optim." + key[len(dialect.optimizer) :]
        groups = dialect.optimizer + "param_groups."
        if key.startswith(groups):
            if not dialect.by_parameter:
                return "optim.param_groups." + key[len(groups) :]
            name, _, option = key[len(groups) :].rpartition(".")
            group = self._group_of(name)
            return None if group is None else f"optim.param_groups.{group}.{option}"
        return "model." + key[len(dialect.model) :] if key.startswith(dialect.model) else None

    def _group_of(self, name: str) -> Optional[int]:
        if self._groups is None:
            self._groups = {}
            for key, path in self._paths.items():
                if path[:2] == ("optim", "param_groups") and path[3:] == ("params",):
                    for member in torch.load(io.BytesIO(self.bytes_of(key)), weights_only=True):
                        self._groups[member] = path[2]
        return self._groups.get(name)

    def is_option(self, key: str) -> bool:
        """Whether a key is that of an option of a param group, also of one that the checkpoint does not have."""
        dialects = DIALECTS.values() if self.dialect is None else [DIALECTS[self.dialect]]
        natives = [self._in(dialect, key) for dialect in dialects]
        groups = [native.rpartition(".")[0] for native in natives if native and native.startswith("optim.param_groups.")]
        return any(group + ".params" in self.stored for group in groups)

    def keys(self) -> Iterator[Tuple[str, str, Tuple[Any, ...]]]:
        """Each key in the dialect, with the native one and the path that it is made of."""
        dialect = DIALECTS[self.dialect or _OWN]
        for native, path in self._paths.items():
            for key, parts in self._named(dialect, native, path):
                yield key, native, parts

    def _named(
        self, dialect: Dialect, native: str, path: Tuple[Any, ...]
    ) -> Iterator[Tuple[str, Tuple[Any, ...]]]:
        if path[0] == "deepspeed":
            yield native, path
            return
        of_model = path[0] == "model"
        prefix = dialect.model if of_model else dialect.optimizer
        rests: List[Tuple[Any, ...]] = [path[1:]]
        if dialect.by_parameter and not of_model:
            rests = [(".".join(map(str, path[1:])),)]
            if path[1] == "param_groups":
                self._group_of("")
                members = [name for name, group in (self._groups or {}).items() if group == path[2]]
                rests = [] if path[3] == "params" else [(f"param_groups.{name}.{path[3]}",) for name in members]
        for rest in rests:
            yield prefix + ".".join(map(str, rest)), (*filter(None, prefix.split(".")), *rest)

    def has_box(self, native: str) -> bool:
        """Whether parts of it can be read: a tensor of the model or the optimizer."""
        return isinstance(self.stored[native], TensorStorageMetadata) and (
            self._places[native].relative_path != _PACKED
        )

    def ask_box(self, native: str, offsets: Sequence[int], sizes: Sequence[int]) -> "Box":
        """Sends the request for a part of a tensor."""
        entry = self.stored[native]
        assert isinstance(entry, TensorStorageMetadata)
        return Box(self._server, self._plan, self._places[native].relative_path, offsets, sizes, entry.properties.dtype)

    def bytes_of(self, native: str) -> bytes:
        """What torch.load() takes: an object, or a small tensor."""
        place = self._places[native]
        return self._file(place.relative_path)[place.offset : place.offset + place.length]

    def length_of(self, native: str) -> int:
        """Of bytes_of()."""
        return int(self._places[native].length)

    def _file(self, name: str) -> bytes:
        if name not in self._files:
            data = bytearray()
            self._server.wait(self._server.send("emit", into=data.extend, of=self._plan, file=name))
            self._files[name] = bytes(data)
        return self._files[name]


class Box:
    """A part of a tensor that was asked for."""

    def __init__(
        self, server: Server, plan: int, file: str, offsets: Sequence[int], sizes: Sequence[int], dtype: torch.dtype
    ) -> None:
        self._server = server
        self._sizes = list(sizes)
        self._dtype = dtype
        self.bytes = torch.Size(sizes).numel() * dtype.itemsize
        self._data = bytearray(self.bytes)
        self._filled = 0
        box: Dict[str, Any] = {"offsets": list(offsets), "sizes": self._sizes} if self._sizes else {}
        self._number = server.send("elements", into=self._take, of=plan, file=file, **box)

    def _take(self, data: memoryview) -> None:
        end = self._filled + len(data)
        if end <= len(self._data):
            self._data[self._filled : end] = data
        self._filled = end

    def tensor(self) -> torch.Tensor:
        self._server.wait(self._number)
        if self._filled != len(self._data):
            raise ShardscopeError("internal", f"the program sent {self._filled} bytes in place of {len(self._data)}")
        if not self._data:
            return torch.empty(self._sizes, dtype=self._dtype)
        return torch.frombuffer(self._data, dtype=self._dtype).reshape(self._sizes)


class _Metadata(pickle.Unpickler):
    """Takes only the classes that describe a distributed checkpoint."""

    _ALLOWED = {
        "torch.distributed.checkpoint.metadata": (
            "Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata", "TensorProperties",
            "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING",
        ),
        "torch.distributed.checkpoint.filesystem": ("_StorageInfo",),
        "torch.serialization": ("_get_layout",),
        "torch": ("Size",),
    }

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module in self._ALLOWED else None
        if name in self._ALLOWED.get(module, ()) or (module == "torch" and isinstance(found, torch.dtype)):
            return found
        raise pickle.UnpicklingError(f"a description of a checkpoint has no {module}.{name}")

    def load(self) -> Metadata:
        out = super().load()
        if not isinstance(out, Metadata):
            raise pickle.UnpicklingError("it does not describe a checkpoint")
        return out


class Entries(Dict[str, Stored]):
    """What is stored, by the keys of the dialect; if none is named, other dialects' keys are found, too."""

    def __init__(self, source: Source, options: bool) -> None:
        super().__init__((key, source.stored[native]) for key, native, _ in source.keys())
        self._source = source
        self._options = options  # whether those that the checkpoint does not have are found

    def __missing__(self, key: str) -> Stored:
        native = self._source.native(key)
        if native is not None:
            return self._source.stored[native]
        if self._options and self._source.is_option(key):
            return BytesStorageMetadata()
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default


class StorageReader(TorchReader):  # type: ignore[misc]
    """Reads a checkpoint of any kind that `shardscope convert` accepts, for torch.distributed.checkpoint.load()."""

    def __init__(self, path: PathLike, dialect: Optional[str] = None, **options: Option) -> None:
        """`dialect` is one of DIALECTS; without it, keys of each of them are known. `options` are those of `shardscope
        convert`, such as `tag`, `root`, `optimizer_option`, `patterns`, `tie` and `allow`."""
        super().__init__()
        self._path = os.fspath(path)
        self._dialect = dialect
        self._options = options
        self._source: Optional[Source] = None

    def reset(self, checkpoint_id: Optional[PathLike] = None) -> None:
        self._close()
        if checkpoint_id:
            self._path = os.fspath(checkpoint_id)

    def read_metadata(self) -> Metadata:
        self._close()
        self._source = Source(self._path, self._dialect, self._options)
        paths = {key: path for key, _, path in self._source.keys()}
        return Metadata(Entries(self._source, options=True), planner_data=paths)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:
        pass

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return dataclasses.replace(plan, storage_data=self._source.plan_id if self._source else None)

    def prepare_global_plan(self, plans: List[LoadPlan]) -> List[LoadPlan]:
        """Each rank opened the checkpoint itself: `latest` may have changed between two of them."""
        if len({plan.storage_data for plan in plans}) > 1:
            raise ShardscopeError(
                "source-changed", "the checkpoint changed while the ranks opened it", self._path, "name its tag, or try again", 6
            )
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> "Future[None]":
        source = self._source
        if source is None:
            raise ShardscopeError("usage", "read_metadata() was not called")
        try:
            self._read_all(source, plan, planner)
        finally:
            self._close()
        out: "Future[None]" = Future()
        out.set_result(None)
        return out

    @staticmethod
    def _read_all(source: Source, plan: LoadPlan, planner: LoadPlanner) -> None:
        under_way: Deque[Tuple[ReadItem, Box]] = deque()
        bytes_under_way = 0
        kept: List[str] = []
        for item in plan.items:
            native = source.native(item.storage_index.fqn)
            if native is None:
                kept.append(item.storage_index.fqn)
            elif item.type == LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(source.bytes_of(native)))
            elif source.has_box(native):
                under_way.append((item, source.ask_box(native, item.storage_offsets, item.lengths)))
                bytes_under_way += under_way[-1][1].bytes
                while len(under_way) >= _AT_ONCE or (bytes_under_way > _BYTES_AT_ONCE and len(under_way) > 1):
                    bytes_under_way -= under_way[0][1].bytes
                    _commit(planner, *_read(under_way.popleft()))
            else:
                value = torch.load(io.BytesIO(source.bytes_of(native)), map_location="cpu", weights_only=True)
                _commit(planner, item, value)
        while under_way:
            _commit(planner, *_read(under_way.popleft()))
        if kept:
            names = sorted({key.rpartition(".")[2] for key in kept})
            warnings.warn(
                f"the checkpoint's optimizer has no options {', '.join(names)}: they keep their values", OptionWarning
            )

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: PathLike) -> bool:
        return os.path.exists(checkpoint_id)

    def _close(self) -> None:
        if self._source is not None:
            self._source.close()
            self._source = None


def _read(asked: Tuple[ReadItem, Box]) -> Tuple[ReadItem, torch.Tensor]:
    return asked[0], asked[1].tensor()


def _commit(planner: LoadPlanner, item: ReadItem, value: torch.Tensor) -> None:
    target = planner.resolve_tensor(item).detach()
    if target.size() != value.size():
        raise ShardscopeError(
            "refused", f"{item.storage_index.fqn} is asked for as {tuple(target.size())} and read as {tuple(value.size())}"
        )
    target.copy_(value)
    planner.commit_tensor(item, target)
