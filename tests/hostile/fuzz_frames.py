#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages the frames between `shardscope` and `shardscope serve` at random, in one direction.

    tests/hostile/fuzz_frames.py --shardscope build/release/app/cli/shardscope --way answers --minutes 5
    tests/hostile/fuzz_frames.py --shardscope … --way requests --repeat 1234

`answers` is a hostile host: commands on `node:PATH` read what it damaged. `requests` is a hostile client of a server
that was started as ssh starts it. Reported are: a crash (signal, or a report of a sanitizer), an exit code that no
manual page lists, a run that does not end in time, an answer that is not one JSON object, and a file of the host that
was changed, made or removed. Every failure is printed with the seed that repeats it; the exit status is 1 when there
was one. Standard library only.
"""

import argparse
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from fuzz import EXIT_CODES, SAMPLES, common_arguments, run_cases, trace, wrong_json

SERVER_EXIT_CODES = {0, 3}
SAMPLE_NAMES = ["zero2-w2", "zero3-w4", "bf16opt-w2"]
HEADER_WORDS = ["", "done", "data", "file", "error", "progress", "message", "alive", "hello", "answer", "raw", "job",
                "open", "plan", "emit", "combine", "elements", "files", "close", "cancel", "\x00", "é" * 300]
NUMBERS = [-1, 0, 1, 2, 255, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1, 2**64, 1e300, -0.5]

COMMANDS = [line.split() for line in """
    inspect {}
    params {}
    layout {}
    layout {} --rank dp0
    files {}
    tags {}
    show {} NAME
    stats {}
    check {}
    check {} --depth bytes
    verify {}
    fingerprint {}
    diff {} OTHER
    diff {} {}
    export {} OUT --format safetensors
    reshard {} OUT --world-size 3
    reshard {} OUT --world-size 3 --dry-run
    jobs HOST
    clean {}
""".strip().splitlines()]


# --- frames

def take_frames(stream):
    """(header, payload) of a stream, until it ends."""
    while True:
        sizes = stream.read(8)
        if len(sizes) < 8:
            return
        header_bytes, payload_bytes = struct.unpack("<II", sizes)
        yield stream.read(header_bytes), stream.read(payload_bytes)


def frame(header, payload):
    return struct.pack("<II", len(header), len(payload)) + header + payload


def _value(chosen, value):
    if isinstance(value, str) and chosen.random() < 0.7:
        return chosen.choice([*HEADER_WORDS, value + "\x00", value[:-1], "../" * 9 + "etc/passwd"])
    return chosen.choice([*NUMBERS, None, True, "", [], {}, [[0] * 40], {"a": {"b": []}}])


def damage_json(text, chosen):
    """The text with one value, name or list of it changed; bytes of it when it is no JSON."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return damage_bytes(text, chosen)
    places = []
    waiting = [whole]
    while waiting:
        at = waiting.pop()
        for key in list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ():
            places.append((at, key))
            waiting.append(at[key])
    if not places:
        return damage_bytes(text, chosen)
    at, key = chosen.choice(places)
    kind = chosen.random()
    if kind < 0.2:
        del at[key]
    elif kind < 0.3 and isinstance(at, list):
        at.extend([at[key]] * chosen.choice([1, 2, 1000]))
    elif kind < 0.4 and isinstance(at, dict):
        at[chosen.choice(list(at))] = at[key]
    else:
        at[key] = _value(chosen, at[key])
    return json.dumps(whole).encode()


def damage_bytes(data, chosen):
    data = bytearray(data)
    for _ in range(chosen.choice([1, 1, 1, 4, 32])):
        at = chosen.randrange(len(data) + 1)
        kind = chosen.random()
        if kind < 0.5 and at < len(data):
            flipped = data[at] ^ (1 << chosen.randrange(8))
            data[at] = chosen.choice([0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256), flipped])
        elif kind < 0.65:
            data[at:at] = bytes(chosen.randrange(256) for _ in range(chosen.choice([1, 8, 100])))
        elif kind < 0.8:
            del data[at:at + chosen.choice([1, 8, 1000])]
        elif kind < 0.9 and len(data) >= 8:
            at = min(at, len(data) - 8)
            sizes = [n for n in NUMBERS if isinstance(n, int) and 0 <= n < 2**64]
            data[at:at + 8] = struct.pack("<Q", chosen.choice(sizes))
        else:
            del data[at:]
    return bytes(data)


def damage_frame(header, payload, chosen):
    """The bytes to send in place of a frame."""
    kind = chosen.random()
    if kind < 0.35:
        return frame(damage_json(header, chosen), payload)
    if kind < 0.65:
        return frame(header, damage_json(payload, chosen))
    if kind < 0.75:
        return frame(header, damage_bytes(payload, chosen))
    if kind < 0.80:
        return frame(header, payload) * chosen.choice([2, 3, 400])
    if kind < 0.85:
        return b""
    whole = frame(header, payload)
    if kind < 0.92:
        return struct.pack("<II", chosen.choice([0, 1, 2**20, 2**20 + 1, 2**32 - 1, len(header)]),
                           chosen.choice([0, 1, 2**28, 2**28 + 1, 2**32 - 1])) + whole[8:]
    return damage_bytes(whole, chosen)


# --- a host whose answers are damaged (what SHARDSCOPE_SSH starts)

def be_host(seed, program):
    chosen = random.Random(seed)
    at = chosen.choice([0, 1, 2, 3, 5, 8, 13, 40])  # the first damaged frame
    often = chosen.choice([0.0, 0.1, 1.0])  # of those that follow
    packs = chosen.random() < 0.3  # a damaged packed payload says little about the reader of what is in it
    server = subprocess.Popen([program, "serve", "--allow-jobs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def forward():
        try:
            for header, payload in take_frames(sys.stdin.buffer):
                if not packs and b'"pack"' in header:
                    request = json.loads(header)
                    request.pop("pack", None)
                    header = json.dumps(request).encode()
                server.stdin.write(frame(header, payload))
                server.stdin.flush()
        except (OSError, ValueError):
            pass
        finally:
            server.stdin.close()

    threading.Thread(target=forward, daemon=True).start()
    # Without an answer a client waits as long as the host says that it is alive, which is not what is tested.
    ending = threading.Timer(3.0, server.kill)
    ending.daemon = True
    out = sys.stdout.buffer
    out.write(b"\nshardscope-far ready\n")
    try:
        for index, (header, payload) in enumerate(take_frames(server.stdout)):
            damaged = index == at or (index > at and chosen.random() < often)
            out.write(damage_frame(header, payload, chosen) if damaged else frame(header, payload))
            out.flush()
            if damaged and chosen.random() < 0.05:
                break
            if index == at:
                ending.start()
    except OSError:
        pass
    server.kill()
    return 0


class Answers:
    """Commands on a hostile host."""

    def __init__(self, program, limit_seconds):
        self.program = program
        self.limit_seconds = limit_seconds

    def case(self, seed):
        chosen = random.Random(seed)
        folder = Path(tempfile.mkdtemp(prefix="shardscope-frames-"))
        try:
            source = folder / "host" / chosen.choice(SAMPLE_NAMES)
            shutil.copytree(SAMPLES / source.name, source)
            words = {"{}": f"node:{source}", "OTHER": str(SAMPLES / source.name), "OUT": str(folder / "out"),
                     "NAME": "x", "HOST": "node:"}
            command = [words.get(word, word) for word in chosen.choice(COMMANDS)]
            command += ["--json"] if chosen.random() < 0.7 else []
            before = trace(folder / "host")
            wrong = self._judge(command, folder, seed)
            if not wrong and trace(folder / "host") != before:
                wrong = "a file of the host was changed"
            return wrong and f"seed {seed}: {wrong}: {' '.join(command)}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _judge(self, command, folder, seed):
        environment = dict(os.environ, HOME=str(folder), XDG_STATE_HOME=str(folder / "state"),
                           SHARDSCOPE_SSH=f"{sys.executable} {__file__} --be-host {seed} --shardscope {self.program}")
        try:
            done = subprocess.run([str(self.program), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=self.limit_seconds, env=environment)
        except subprocess.TimeoutExpired:
            return f"no end within {self.limit_seconds} s"
        errors = done.stderr.decode(errors="replace").strip()
        if done.returncode not in EXIT_CODES or "Sanitizer" in errors or "runtime error" in errors:
            return f"exit {done.returncode} ({errors[-2000:]})"
        return wrong_json(done) if "--json" in command else None


# --- a client whose requests are damaged

def _write(stream, data):
    try:
        stream.write(data)
        stream.flush()
    except OSError:
        pass


class Requests:
    """Servers that a hostile client asks."""

    def __init__(self, program, limit_seconds):
        self.program = program
        self.limit_seconds = limit_seconds

    def _requests(self, chosen, source):
        """Sound ones, of every kind."""
        place = str(source).encode()

        def words(*all_words):
            return b"".join(word + b"\0" for word in all_words)

        calls = json.dumps({"calls": [{"call": call, "path": str(source)} for call in (
            "stat", "list", "canonical", "space", "open", "read", "small", "unchanged")]}).encode()
        asked = [
            ({"ask": "answer"}, words(b"inspect", place)),
            ({"ask": "answer", "text": True, "host": "node"}, words(b"check", place)),
            ({"ask": "answer"}, words(b"stats", place)),
            ({"ask": "answer"}, words(b"plan", b"reshard", place, b"/nowhere/x", b"-w", b"3", b"--output", b"-")),
            ({"ask": "answer"}, words(b"jobs")),
            ({"ask": "open"}, words(place)),
            ({"ask": "plan"}, b'{"plan": 1}'),
            ({"ask": "elements", "of": 6, "address": "x", "offsets": [0], "sizes": [1]}, b""),
            ({"ask": "emit", "of": 7, "file": "x"}, b""),
            ({"ask": "combine", "of": 7}, b"x\0"),
            ({"ask": "files"}, calls),
            ({"ask": "alive", "pack": True}, b""),
            ({"ask": "close", "of": 6}, b""),
            ({"ask": "cancel", "of": 1}, b""),
            ({"ask": "raw"}, words(b"diff", place, place)),
            ({"ask": "raw"}, words(b"stats", place)),
            ({"ask": "job", "host": "node"}, words(b"jobs")),
        ]
        return [(json.dumps({"id": index + 1, **header}).encode(), payload)
                for index, (header, payload) in enumerate(asked)]

    def case(self, seed):
        chosen = random.Random(seed)
        folder = Path(tempfile.mkdtemp(prefix="shardscope-frames-"))
        try:
            source = folder / "host" / chosen.choice(SAMPLE_NAMES)
            shutil.copytree(SAMPLES / source.name, source)
            requests = self._requests(chosen, source)
            chosen.shuffle(requests)
            sent = b"".join(damage_frame(header, payload, chosen) if chosen.random() < 0.4 else frame(header, payload)
                            for header, payload in requests * chosen.choice([1, 1, 3]))
            before = trace(folder / "host")
            environment = dict(os.environ, HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))
            status, got, errors = self._ask(sent, environment)
            if status is None:
                return f"seed {seed}: no end within {self.limit_seconds} s"
            if status not in SERVER_EXIT_CODES or "Sanitizer" in errors or "runtime error" in errors:
                return f"seed {seed}: exit {status} ({errors[-2000:]})"
            if trace(folder / "host") != before:
                return f"seed {seed}: a file of the host was changed"
            # A server that was sent no frame ends at once, in the middle of a reply as well.
            return self._replies(seed, got) if status == 0 else None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, sent, environment):
        """Exit status (None: it did not end), what it wrote before its input ended, and what it said."""
        server = subprocess.Popen([str(self.program), "serve", "--allow-jobs"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        said = []
        others = [threading.Thread(target=_write, args=(server.stdin, sent), daemon=True),
                  threading.Thread(target=lambda: said.append(server.stderr.read()), daemon=True)]
        for thread in others:
            thread.start()
        got = b""
        end = time.monotonic() + self.limit_seconds
        while select.select([server.stdout], [], [], 0.4)[0] and time.monotonic() < end:
            more = os.read(server.stdout.fileno(), 1 << 20)
            if not more:
                break
            got += more
        try:
            others[0].join(5)
            server.stdin.close()
        except OSError:
            pass
        # It may end in the middle of a reply now.
        while select.select([server.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
            if not os.read(server.stdout.fileno(), 1 << 20):
                break
        try:
            server.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        if server.poll() is None:
            server.kill()
            return None, got, ""
        others[1].join(5)
        return server.returncode, got, b"".join(said).decode(errors="replace")

    def _replies(self, seed, data):
        """Whole frames with headers that say what they are, whatever was asked."""
        at = 0
        while at < len(data):
            if at + 8 > len(data):
                return f"seed {seed}: a reply is cut"
            header_bytes, payload_bytes = struct.unpack_from("<II", data, at)
            header = data[at + 8:at + 8 + header_bytes]
            at += 8 + header_bytes + payload_bytes
            try:
                if at > len(data) or "reply" not in json.loads(header):
                    return f"seed {seed}: a reply is cut: {header[:200]}"
            except ValueError:
                return f"seed {seed}: the header of a reply is no JSON"
        return None


def main():
    parser = common_arguments(__doc__)
    parser.add_argument("--way", choices=("answers", "requests"), default="answers")
    parser.add_argument("--be-host", type=int, metavar="SEED", help=argparse.SUPPRESS)
    arguments, _ = parser.parse_known_args()  # ssh's own words follow
    program = arguments.shardscope.resolve()
    if arguments.be_host is not None:
        return be_host(arguments.be_host, program)
    way = {"answers": Answers, "requests": Requests}[arguments.way]
    return run_cases(way(program, arguments.limit).case, arguments)


if __name__ == "__main__":
    sys.exit(main())
