# SPDX-License-Identifier: Apache-2.0
"""The addresses `shardscope://PATH?dialect=NAME&tag=TAG`, for code that loads a distributed checkpoint by an address.

fsspec finds this module by its entry point. The files below such an address are those that torch's FsspecReader opens:
`.metadata`, and one for each part of a tensor, cut by rows for the number of ranks as FSDP2 does. For reading alone.
"""

import io
import os
import pickle
import threading
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qs, unquote

import torch
from fsspec import AbstractFileSystem
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)

from .dcp import Entries, Source, Stored

# A part's file is made when it is read, so its size is not known before: a reader that seeks from the end gets there.
_ENDLESS = 1 << 62

_IDLE_SECONDS = 60  # then the program ends; a file that is read later starts it again
_lock = threading.RLock()
_current: List[Tuple[str, Source, threading.Timer]] = []  # the address that was opened last


def _forget() -> None:
    with _lock:
        while _current:
            _, source, timer = _current.pop()
            timer.cancel()
            source.close()


def _source(address: str, again: bool = False) -> Source:
    """`again`: as the checkpoint is now."""
    source = _current[0][1] if _current and _current[0][0] == address and not again else None
    if source is None:
        _forget()
        path, _, query = address.partition("?")
        options: Dict[str, Any] = {
            name: values if len(values) > 1 else values[0] for name, values in parse_qs(query).items()
        }
        dialect = options.pop("dialect", None)
        source = Source(unquote(path), dialect, options)
    timer = threading.Timer(_IDLE_SECONDS, _forget)
    timer.daemon = True
    for _, _, running in _current:
        running.cancel()
    _current[:] = [(address, source, timer)]
    timer.start()
    return source


class FileSystem(AbstractFileSystem):  # type: ignore[misc]
    protocol = "shardscope"

    def _open(self, path: str, mode: str = "rb", **more: Any) -> io.BytesIO:
        if mode != "rb":
            raise OSError(f"shardscope:// addresses are for reading alone: {path}")
        address, _, name = path.rpartition("/")
        if name == ".metadata":
            return io.BytesIO(pickle.dumps(_Reference(address)))
        with _lock:
            try:
                return self._part(address, name)
            except BaseException:
                _forget()
                raise

    @staticmethod
    def _part(address: str, name: str) -> io.BytesIO:
        native, _, rows = name.partition("@")
        source = _source(address)
        native = unquote(native)
        if not rows:
            return io.BytesIO(source.bytes_of(native))
        first, count = map(int, rows.split("+"))
        entry = source.stored[native]
        offsets, sizes = _rows(entry.size, first, count)
        out = _Part()
        torch.save(source.ask_box(native, offsets, sizes).tensor(), out)
        out.seek(0)
        return out

    def exists(self, path: str, **more: Any) -> bool:
        return os.path.exists(unquote(self._strip_protocol(path).partition("?")[0]))


class _Part(io.BytesIO):
    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_SET and offset > _ENDLESS // 2:
            return super().seek(offset - _ENDLESS, os.SEEK_END)
        return super().seek(offset, whence)


class _Reference:
    """In `.metadata`: that the process that reads it makes it, of the checkpoint as it is then."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __reduce__(self) -> Any:
        return metadata_of, (self._address,)


def metadata_of(address: str) -> Metadata:
    """What torch reads from `.metadata`."""
    with _lock:
        source = _source(address, again=True)
    paths = {key: path for key, _, path in source.keys()}
    return Metadata(_CutEntries(source, options=False), planner_data=paths, storage_data=_Places(source))


def _rows(size: torch.Size, first: int, count: int) -> Tuple[List[int], List[int]]:
    return [first, *[0] * (len(size) - 1)][: len(size)], [count, *size[1:]][: len(size)]


def _rows_at_once(size: torch.Size) -> int:
    """As torch.chunk() cuts for the ranks of the process group."""
    import torch.distributed as dist

    ranks: int = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    return max(1, -(-int(size[0]) // ranks)) if size else 1


class _CutEntries(Entries):
    """Its tensors are cut by rows."""

    def __init__(self, source: Source, options: bool) -> None:
        super().__init__(source, options)
        for key in list(self):
            super().__setitem__(key, self._cut(super().__getitem__(key)))

    def __missing__(self, key: str) -> Stored:
        return self._cut(super().__missing__(key))

    @staticmethod
    def _cut(entry: Stored) -> Stored:
        if not isinstance(entry, TensorStorageMetadata) or not entry.size or not entry.size.numel():
            return entry
        step = _rows_at_once(entry.size)
        chunks = []
        for first in range(0, entry.size[0], step):
            offsets, sizes = _rows(entry.size, first, min(step, entry.size[0] - first))
            chunks.append(ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)))
        return TensorStorageMetadata(entry.properties, entry.size, chunks)


class _Places(Dict[MetadataIndex, _StorageInfo]):
    """Where each part is: the name of its file."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def __missing__(self, index: MetadataIndex) -> _StorageInfo:
        native = self._source.native(index.fqn)
        if native is None:
            raise KeyError(index)
        name = native.replace("%", "%25").replace("/", "%2F").replace("@", "%40")
        if not self._source.has_box(native):
            return _StorageInfo(name, 0, self._source.length_of(native))
        size = self._source.stored[native].size
        first = index.offset[0] if index.offset else 0
        count = min(_rows_at_once(size), size[0] - first) if size else 1
        return _StorageInfo(f"{name}@{first}+{count}", 0, _ENDLESS)
