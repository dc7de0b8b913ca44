# SPDX-License-Identifier: Apache-2.0
"""A long-lived `shardscope serve` beside this process. `shardscope help serving` describes the protocol."""

import json
import os
import signal
import struct
import subprocess
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .errors import ShardscopeError
from .program import find_program, raise_error

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
        self._child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=descriptors,
            env={**os.environ, "SHARDSCOPE_PARENT": str(os.getpid())},
        )
        self._messages: List[bytes] = []
        self._drain = threading.Thread(target=self._keep_messages, daemon=True)
        self._drain.start()
        self._last = 0
        self._sinks: Dict[int, Dict[str, Sink]] = {}
        self._done: Dict[int, Tuple[Mapping[str, Any], bytes]] = {}
        try:
            header, _ = self.wait(0)
            if header.get("protocol") != _PROTOCOL:
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
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
        self._drain.join()
        if self._child.stderr is not None:
            self._child.stderr.close()

    def answer(self, words: Sequence[str], saved: Optional[Sink] = None) -> Mapping[str, Any]:
        """The JSON answer of a command that only reads. `saved` takes the file that it writes to `-`."""
        output = bytearray()
        header, _ = self.wait(self.send("answer", words_payload(words), output.extend, saved))
        try:
            answer: Dict[str, Any] = json.loads(output)
        except ValueError:
            raise self._broken("an answer is not JSON") from None
        raise_error(answer, int(header.get("exit", 0)))
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
        except OSError:
            raise self._broken("it has ended") from None
        return self._last

    def wait(self, number: int) -> Tuple[Mapping[str, Any], bytes]:
        """The header and the payload of the last frame of a reply, once it has arrived."""
        while number not in self._done:
            self._receive()
        header, payload = self._done.pop(number)
        if header["reply"] == "error":
            answer = self._json(payload)
            raise_error(answer, int(header.get("exit", 0)))
            raise self._broken("an error is none")
        return header, payload

    def emit(self, plan: int, file: str, to: int) -> int:
        """Sends the request for a planned file, for wait(): the answer of `emit --digest` is the payload. `to` is one of
        the descriptors."""
        return self.send("emit", of=plan, file=file, to=to, digest=True)

    def _keep_messages(self) -> None:
        assert self._child.stderr is not None
        self._messages.append(self._child.stderr.read())

    def _receive(self) -> None:
        """Takes one frame."""
        header_bytes, payload_bytes = _SIZES.unpack(self._read(_SIZES.size))
        if header_bytes > _HEADER_LIMIT or payload_bytes > _PAYLOAD_LIMIT:
            raise self._broken("a frame is too large")
        header = self._json(self._read(header_bytes))
        payload = self._read(payload_bytes)
        number, kind = header.get("id"), header.get("reply")
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
        out = pipe.read(count)
        if len(out) != count:
            raise self._broken("it has ended")
        return out

    def _json(self, text: bytes) -> Dict[str, Any]:
        try:
            out = json.loads(text)
        except ValueError:
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
