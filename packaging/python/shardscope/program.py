# SPDX-License-Identifier: Apache-2.0
"""Finds the program `shardscope` and runs it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .answers import Progress
from .errors import ShardscopeError

ProgressFunction = Callable[[Progress], None]

_ERROR_SCHEMA = "shardscope/error/"
_MAX_MESSAGE = 4000


def find_program() -> str:
    """The program's path: SHARDSCOPE_PROGRAM, else the one in this package, else the one in PATH.

    Raises ShardscopeError ("not-found") if there is none.
    """
    named = os.environ.get("SHARDSCOPE_PROGRAM")
    if named:
        if os.access(named, os.X_OK):
            return named
        raise ShardscopeError(
            "not-found",
            "SHARDSCOPE_PROGRAM does not name a program that can be run",
            named,
            "unset it, or let it name the program `shardscope`",
            3,
        )
    own = Path(__file__).with_name("bin") / "shardscope"
    if os.access(own, os.X_OK):
        return str(own)
    found = shutil.which("shardscope")
    if found:
        return found
    raise ShardscopeError(
        "not-found",
        "the program `shardscope` is neither in this package nor in PATH",
        None,
        "install the wheel for this machine, or set SHARDSCOPE_PROGRAM to the program's path",
        3,
    )


def run(
    words: Sequence[str],
    paths: Sequence[str],
    progress: Optional[ProgressFunction] = None,
    low_priority: bool = False,
    descriptors: Sequence[int] = (),
) -> Tuple[Mapping[str, Any], int]:
    """Runs a command and its options with --json. Returns its JSON object and its exit status. A path may
    begin with a dash.

    `progress` is called in the calling thread. `low_priority`: other processes come first. `descriptors` stay
    open in the command, under their numbers. Raises ShardscopeError if the command fails. A
    KeyboardInterrupt stops the command as Ctrl+C does: it finishes running writes, so that the same call
    continues later; then the exception is raised again. The command also stops in this way when this process
    ends, however that happens, and in another thread when Ctrl+C ends the main thread.
    """
    command = [*(_low_priority() if low_priority else []), find_program(), *words]
    command += ["--json", "--progress", "json" if progress else "none", "--", *paths]
    child = start(command, subprocess.DEVNULL, descriptors)
    assert child.stdout is not None and child.stderr is not None
    stdout = child.stdout
    output: List[bytes] = []
    reader = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True)
    reader.start()
    messages: List[str] = []
    try:
        _running.add(child)
        for line in child.stderr:
            _take_line(line.decode("utf-8", "replace").rstrip("\n"), progress, messages)
        child.wait()
    except BaseException:
        _stop(child)
        raise
    finally:
        _running.discard(child)
        child.stderr.close()
        reader.join()
        child.stdout.close()
    return _answer(b"".join(output), child.returncode, messages)


def start(command: Sequence[str], stdin: int, descriptors: Sequence[int]) -> "subprocess.Popen[bytes]":
    """Starts the program, which ends with this process; output and messages go to pipes."""
    # A session of its own: Ctrl+C reaches the command once, from here, and never from the terminal, too.
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=descriptors,
        env={**os.environ, "SHARDSCOPE_PARENT": str(os.getpid())},
    )


class _Running:
    """The commands of other threads than the main one, which alone gets the KeyboardInterrupt.

    Python then waits for these threads, and they for their commands. So a thread of our own waits for the end of
    the main thread, and stops the commands if that was the reason.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: Set["subprocess.Popen[bytes]"] = set()
        self._watcher: Optional[threading.Thread] = None

    def add(self, child: "subprocess.Popen[bytes]") -> None:
        if threading.current_thread() is threading.main_thread():
            return
        with self._lock:
            self._children.add(child)
            if self._watcher is None or not self._watcher.is_alive():  # a fork has no threads but its own
                self._watcher = threading.Thread(target=self._watch, name="shardscope-watch", daemon=True)
                self._watcher.start()

    def discard(self, child: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._children.discard(child)

    def _watch(self) -> None:
        threading.main_thread().join()
        if not isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
            return
        with self._lock:
            for child in self._children:
                child.send_signal(signal.SIGINT)


_running = _Running()


def _low_priority() -> List[str]:
    """For the processor and, where the system has it, for the disk."""
    words = ["nice", "-n", "19"] if shutil.which("nice") else []
    return (["ionice", "-c", "3"] if shutil.which("ionice") else []) + words


def _take_line(line: str, progress: Optional[ProgressFunction], messages: List[str]) -> None:
    if progress and line.startswith("{"):
        try:
            step = Progress.from_json(json.loads(line))
        except (ValueError, KeyError):
            step = None
        if step is not None:
            progress(step)
            return
    messages.append(line)


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Asks the command to stop, and waits. Another Ctrl+C ends it at once; its files stay usable."""
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    drain = threading.Thread(target=child.stderr.read, daemon=True)
    drain.start()
    try:
        child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
    drain.join()


def _answer(output: bytes, status: int, messages: List[str]) -> Tuple[Mapping[str, Any], int]:
    try:
        answer: Dict[str, Any] = json.loads(output)
    except ValueError:
        text = "\n".join(messages)[-_MAX_MESSAGE:]
        raise ShardscopeError(
            "internal", f"the program ended with status {status} and without an answer: {text}", exit_code=status
        ) from None
    raise_error(answer, status)
    return answer, status


def raise_error(answer: Mapping[str, Any], status: int) -> None:
    """Raises the error, if the answer is one."""
    if str(answer.get("schema", "")).startswith(_ERROR_SCHEMA):
        raise ShardscopeError(
            answer["code"],
            answer["message"],
            answer.get("path"),
            answer.get("hint"),
            status,
            answer.get("command"),
            answer.get("runs", ()),
        )


def main() -> None:
    """The console script: becomes the program."""
    try:
        program = find_program()
    except ShardscopeError as error:
        sys.stderr.write(f"shardscope: {error}\n")
        sys.exit(error.exit_code)
    os.execv(program, ["shardscope", *sys.argv[1:]])
