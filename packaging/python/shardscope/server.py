# SPDX-License-Identifier: Apache-2.0
"""A `shardscope serve` that this process keeps. `shardscope help serving` describes the protocol."""

import contextlib
import json
import os
import struct
import subprocess
import threading
import weakref
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import ShardscopeError
from .program import find_program, raise_error, start

_PROTOCOL = 1
_SIZES = struct.Struct("<II")
_HEADER_LIMIT = 1 << 20
_PAYLOAD_LIMIT = 1 << 28

Sink = Callable[[Any], None]  # takes a memoryview


class Server:
    """Answers requests, several at once. For one thread at a time; a context manager.

    Raises ShardscopeError: what the server answers, or "internal" if it ends or sends what is no reply.
    """

    def __init__(self, descriptors: Sequence[int] = (), jobs: Optional[int] = None) -> None:
        """`descriptors` are open for writing; emit() may write to them. `jobs` requests are worked on at once."""
        words = [find_program(), "serve", *(["--jobs", str(jobs)] if jobs else [])]
        for descriptor in descriptors:
            words += ["--to", str(descriptor)]
        self._child = start(words, subprocess.PIPE, descriptors)
        self._messages: List[bytes] = []
        self._drain = threading.Thread(target=_keep, args=(self._child.stderr, self._messages), daemon=True)
        self._drain.start()
        self._end = weakref.finalize(self, _end, self._child, self._drain)
        self._last = 0
        self._sinks: Dict[int, Dict[str, Sink]] = {}
        self._done: Dict[int, Tuple[Mapping[str, Any], bytes]] = {}
        try:
            header, _ = self.wait(0)
            if type(header.get("protocol")) is not int or header["protocol"] != _PROTOCOL:
                raise self._broken(f"it speaks protocol {header.get('protocol')}")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server. Requests under way are cancelled."""
        self._end()

    def answer(self, words: Sequence[str], saved: Optional[Sink] = None) -> Mapping[str, Any]:
        """The JSON answer of a command that only reads. `saved` takes the file that it writes to `-`."""
        output = bytearray()
        header, _ = self.wait(self.send("answer", words_payload(words), output.extend, saved))
        answer = self._json(bytes(output))
        self._raise(answer, header)
        return answer

    def send(
        self, ask: str, payload: bytes = b"", into: Optional[Sink] = None, saved: Optional[Sink] = None, **fields: Any
    ) -> int:
        """Sends a request; returns its id. `into` takes the data of its reply, while wait() is called. At most 256 can
        be under way."""
        if len(payload) > _PAYLOAD_LIMIT:
            raise ShardscopeError("limit-exceeded", f"a request of {len(payload)} bytes is too large", exit_code=3)
        self._last += 1
        self._sinks[self._last] = {"data": into or _drop, "file": saved or _drop}
        header = json.dumps({"id": self._last, "ask": ask, **fields}).encode()
        pipe = self._child.stdin
        assert pipe is not None
        try:
            pipe.write(_SIZES.pack(len(header), len(payload)) + header + payload)
            pipe.flush()
        except (OSError, ValueError):  # ValueError: it was closed
            raise self._broken("it has ended") from None
        return self._last

    def wait(self, number: int) -> Tuple[Mapping[str, Any], bytes]:
        """The header and the payload of the last frame of a reply, once it has arrived."""
        while number not in self._done:
            self._receive()
        header, payload = self._done.pop(number)
        if header["reply"] == "error":
            self._raise(self._json(payload), header)
            raise self._broken("an error is none")
        return header, payload

    def _raise(self, answer: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        status = header.get("exit", 0)
        try:
            raise_error(answer, status)
        except (KeyError, TypeError):
            raise self._broken("an error is none") from None

    def emit(self, plan: int, file: str, to: int) -> int:
        """Sends the request for a planned file, for wait(): the answer of `emit --digest` is the payload. `to` is one of
        the descriptors."""
        return self.send("emit", of=plan, file=file, to=to, digest=True)

    def _receive(self) -> None:
        """Takes one frame. After an interruption in it, what follows could not be understood."""
        try:
            self._take()
        except BaseException:
            self.close()
            raise

    def _take(self) -> None:
        header_bytes, payload_bytes = _SIZES.unpack(self._read(_SIZES.size))
        if header_bytes > _HEADER_LIMIT or payload_bytes > _PAYLOAD_LIMIT:
            raise self._broken("a frame is too large")
        header = self._json(self._read(header_bytes))
        payload = self._read(payload_bytes)
        number, kind = header.get("id"), header.get("reply")
        if type(number) is not int or type(kind) is not str or type(header.get("exit", 0)) is not int:
            raise self._broken("a frame holds no reply")
        if kind == "hello" and not self._done and self._last == 0:
            self._done[0] = header, payload
        elif number not in self._sinks:
            raise self._broken("it replies to what was not asked")
        elif kind in ("data", "file"):
            self._sinks[number][kind](memoryview(payload))
        elif kind in ("done", "error"):
            del self._sinks[number]
            self._done[number] = header, payload
        elif kind != "progress":
            raise self._broken("a reply is of no kind that this package knows")

    def _read(self, count: int) -> bytes:
        pipe = self._child.stdout
        assert pipe is not None
        try:
            out = pipe.read(count)
        except ValueError:  # it was closed
            out = b""
        if len(out) != count:
            raise self._broken("it has ended")
        return out

    def _json(self, text: bytes) -> Dict[str, Any]:
        try:
            out = json.loads(text)
        except (ValueError, RecursionError):
            out = None
        if not isinstance(out, dict):
            raise self._broken("a frame holds no JSON object where it should")
        return out

    def _broken(self, why: str) -> ShardscopeError:
        self.close()
        text = b"".join(self._messages).decode("utf-8", "replace").strip()
        status = self._child.returncode
        return ShardscopeError("internal", f"`shardscope serve` cannot be used: {why}. {text}".strip(), exit_code=status)


def words_payload(words: Sequence[str]) -> bytes:
    """Words as a payload: each ended by a zero byte."""
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _drop(_: memoryview) -> None:
    pass


def _keep(stream: IO[bytes], messages: List[bytes]) -> None:
    with contextlib.suppress(ValueError, OSError):
        messages.append(stream.read())


def _end(child: "subprocess.Popen[bytes]", drain: threading.Thread) -> None:
    """It ends with its input, unless a process that was forked from this one holds that open: it writes nothing that could
    be left half done."""
    for stream in (child.stdin, child.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    try:
        child.wait(1)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    drain.join(1)
    if child.stderr is not None:
        child.stderr.close()
