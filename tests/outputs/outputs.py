#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the program's outputs for every sample checkpoint, so that two builds can be compared.

    tests/outputs/outputs.py record --shardscope build/release/app/cli/shardscope before.sums
    tests/outputs/outputs.py compare before.sums after.sums          every difference; exit status 1 if there is one
    tests/outputs/outputs.py compare before.sums after.sums --only bytes

One line a result: the kind of result, its SHA-256 (16 digits), and its name. Kinds:
    bytes     a file that a command wrote
    content   the objects in a torch file that a command wrote, however its pickle spells them
    manifest  a JSON file that a command wrote, compared by its parsed content
    exit      the exit status of a command
    json      an answer to --json, without the values that change between two runs (durations, free space)
    text      an answer in words, also help and error messages
Standard library only. Samples are copied first and get fixed times, as times go into skeletons.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import commands
from contents import content_digest

DATA = Path(__file__).resolve().parents[1] / "data"
KINDS = ("bytes", "content", "manifest", "exit", "json", "text")
FIXED_TIME = 1_700_000_000
# Values that differ between two runs of one program, by key.
VOLATILE = {"seconds", "processor_seconds", "bytes_per_second_of", "read_directly", "bytes_per_second", "free_bytes", "limited_by", "read_seconds", "write_seconds", "verify_seconds",
            "available_bytes", "build", "version", "tool", "tool_version", "modified", "time", "endTimeUtc", "commit"}
VOLATILE_TEXT = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"Shardscope \S+ \([^)]*\)"), "<tool>"),
    (re.compile(r"\d[\d.,]* (?:ms|s|min|h)\b(?:, [\d.,]+ \wi?B/s)?"), "<duration>"),
    (re.compile(r"(free space +).*"), r"\1<size>"),
    (re.compile(r"(limited by +).*"), r"\1<stage>"),
    (re.compile(r"\d[\d.,]* [KMGT]?i?B/s"), "<rate>"),
)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def stable(value):
    """The value without what changes between two runs."""
    if isinstance(value, dict):
        return {key: stable(item) for key, item in value.items() if key not in VOLATILE}
    return [stable(item) for item in value] if isinstance(value, list) else value


def stable_json(data, places):
    text = json.dumps(stable(json.loads(data)), sort_keys=True)
    for place, name in places:
        text = text.replace(place, name)
    return text.encode()


def stable_text(data, places):
    text = data.decode("utf-8", "surrogateescape")
    for place, name in places:
        text = text.replace(place, name)
    for pattern, replacement in VOLATILE_TEXT:
        text = pattern.sub(replacement, text)
    return text.encode("utf-8", "surrogateescape")


class Recorder:
    """Runs the commands on one checkpoint, in a folder of its own."""

    def __init__(self, program, folder, keep_texts):
        self.program = program
        self.folder = folder
        self.keep_texts = keep_texts
        self.places = ((str(folder), "<work>"),)
        self.results = []

    def add(self, kind, name, data):
        self.results.append((kind, digest(data), name))
        if self.keep_texts and kind in ("json", "text", "manifest"):
            place = self.keep_texts / kind / re.sub(r"[^\w.=+-]+", "_", name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def call(self, name, arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "COLUMNS": "100"}
        done = subprocess.run([self.program, *arguments], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300)
        self.results.append(("exit", str(done.returncode), name))
        if "--json" in arguments:
            try:
                self.add("json", name, stable_json(done.stdout, self.places))
            except ValueError:
                self.add("json", name, b"no JSON: " + stable_text(done.stdout, self.places))
        else:
            self.add("text", name, stable_text(done.stdout, self.places))
        self.add("text", f"{name} (standard error)", stable_text(done.stderr, self.places))
        return done.returncode

    def add_files(self, name, root):
        """Every file below a folder that a command wrote, and every link."""
        paths = [root] if root.is_file() else sorted(root.rglob("*"))
        for path in paths:
            label = f"{name}: {path.relative_to(self.folder)}"
            if path.is_symlink():
                self.add("bytes", label, os.fsencode(os.readlink(path)))
            elif path.is_file():
                data = path.read_bytes()
                if path.suffix in (".json", ".sarif"):
                    self.add("manifest", label, stable_json(data, self.places))
                elif path.suffix == ".html":
                    self.add("text", label, stable_text(data, self.places))
                else:
                    self.add("bytes", label, data)
                    if (content := content_digest(data)) is not None:
                        self.add("content", label, content.encode())

    def write(self, name, arguments, target):
        """A command that writes `target`; returns whether it is there."""
        self.call(name, arguments)
        path = self.folder / target
        if not path.exists():
            return False
        self.add_files(name, path)
        return True


def fix_times(folder):
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)


def record_sample(program, sample, work, keep_texts):
    folder = work / sample.name
    folder.mkdir()
    shutil.copytree(sample, folder / "src", symlinks=True)
    fix_times(folder / "src")
    recorder = Recorder(program, folder, keep_texts)
    commands.run_all(recorder, sample.name, fix_times)
    shutil.rmtree(folder)
    return recorder.results


def record_help(program, work, keep_texts):
    folder = work / "help"
    folder.mkdir()
    recorder = Recorder(program, folder, keep_texts)
    commands.run_help(recorder)
    return recorder.results


def record(arguments):
    program = arguments.shardscope.resolve()
    samples = sorted(path for path in (DATA / "samples").iterdir() if path.is_dir())
    samples += sorted(path for path in (DATA / "ties").iterdir() if path.is_dir() and (path / "latest").exists())
    if arguments.only:
        samples = [sample for sample in samples if arguments.only in sample.name]
    keep = arguments.keep_texts and arguments.keep_texts.resolve()
    with tempfile.TemporaryDirectory(prefix="shardscope-outputs-") as work:
        work = Path(work)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            waiting = [pool.submit(record_help, program, work, keep)]
            waiting += [pool.submit(record_sample, program, sample, work, keep) for sample in samples]
            results = [result for future in waiting for result in future.result()]
    results.sort(key=lambda result: (result[0], result[2]))
    arguments.sums.write_text("".join(f"{kind}\t{value}\t{name}\n" for kind, value, name in results))
    counts = {kind: sum(result[0] == kind for result in results) for kind in KINDS}
    print(f"{len(samples)} samples: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    crashed = [name for kind, value, name in results if kind == "exit" and (int(value) < 0 or int(value) == 70)]
    for name in crashed:
        print(f"crashed: {name}")
    return 1 if crashed else 0


def read_sums(path):
    rows = (line.split("\t", 2) for line in path.read_text().splitlines())
    return {(kind, name): value for kind, value, name in rows}


def compare(arguments):
    before, after = read_sums(arguments.before), read_sums(arguments.after)
    if arguments.only:
        before, after = ({key: value for key, value in sums.items() if key[0] in arguments.only}
                         for sums in (before, after))
    if not before:
        print("nothing to compare")
        return 1
    different = 0
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            different += 1
            print(f"{key[0]:8}  {old or 'absent':16}  {new or 'absent':16}  {key[1]}")
    print(f"{len(before)} results before, {len(after)} after, {different} different")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    recording = modes.add_parser("record")
    recording.add_argument("--shardscope", type=Path, required=True)
    recording.add_argument("--jobs", type=int, default=os.cpu_count())
    recording.add_argument("--only", metavar="TEXT", help="samples with TEXT in their names")
    recording.add_argument("--keep-texts", type=Path, metavar="FOLDER", help="write the answers themselves there, for diff -r")
    recording.add_argument("sums", type=Path)
    comparing = modes.add_parser("compare")
    comparing.add_argument("--only", choices=KINDS, action="append", help="this kind alone; may be given several times")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    return record(arguments) if arguments.mode == "record" else compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
