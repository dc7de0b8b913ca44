#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages copies of the sample checkpoints at random and runs every verb on them.

    tests/hostile/fuzz.py --shardscope build/release/app/cli/shardscope --minutes 5
    tests/hostile/fuzz.py --shardscope … --repeat 1234 --keep /tmp/case      one case again

Reported are: a crash (signal), exit 70 or an exit code that no manual page lists, a run that does not end in time,
an answer that is not one JSON object, and a source that was changed. Every failure is printed with the seed that
repeats it; the exit status is 1 when there was one. Standard library only.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mutations

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
EXIT_CODES = {0, 1, 2, 3, 4, 5, 6}
MEMORY_BYTES = 16 << 30  # of address space

# {} is the damaged source, OTHER the sample as it was, OUT a path that is not there, NAME one of its parameters.
VERBS = [line.split() for line in """
    inspect {}
    params {}
    layout {}
    layout {} --rank dp0
    layout {} --param NAME
    layout {} --address NAME#exp_avg[0:3]
    files {}
    show {} NAME
    show {} NAME#weight --limit 0 --npy OUT.npy
    stats {}
    check {}
    check {} --depth bytes
    check {} --depth metadata
    check {} --for world-size=3,stage=2
    verify {}
    verify {} --against OTHER
    verify OTHER --against {}
    fingerprint {}
    diff {} OTHER
    diff OTHER {}
    reshard {} OUT --world-size 1
    reshard {} OUT --world-size 4
    reshard {} OUT --world-size 6 --stage 3
    reshard {} OUT --world-size 2 --stage 1
    reshard {} OUT --world-size 3 --stage 0
    reshard {} OUT --world-size 3 --dry-run
    convert {} OUT --to universal
    convert {} OUT --to dcp
    export {} OUT --format safetensors
    export {} OUT --format torch --dtype fp16 --shard-size 2000
    export {} OUT --format npy --states fp32,exp_avg
    skeleton {} OUT.zip
    repair {} OUT --fix all
    repair {} OUT --fix all --moments zeros --masters weights
    repair {} OUT --fix all --dry-run
    repair --undo {} OUT
    plan reshard {} OUT --world-size 3 -o OUT.json
    run {} OUT
    run {} OUT --dry-run
""".strip().splitlines()]
WITHOUT_JSON = {"plan"}


def trace(root):
    """What a verb must leave as it is: names, types, sizes and bytes."""
    out = {}
    for path in sorted([root, *root.rglob("*")]):
        mode = path.lstat().st_mode
        content = os.readlink(path) if stat.S_ISLNK(mode) else ""
        if stat.S_ISREG(mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        out[str(path)] = (mode, content)
    return out


def _limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def wrong_json(done):
    """What is wrong with the answer of a command with --json, or None."""
    try:
        return None if isinstance(json.loads(done.stdout), dict) else "the answer is no JSON object"
    except ValueError as error:
        return f"the answer of exit {done.returncode} is no JSON ({error})"


class Fuzzer:
    def __init__(self, program, limit_seconds, keep):
        self.program = program
        self.limit_seconds = limit_seconds
        self.keep = keep
        self.made = Path(tempfile.mkdtemp(prefix="shardscope-fuzz-made-"))
        self.names = {}
        self.sources = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
        self._make("convert", SAMPLES / "zero2-w2", "distributed", "--to", "dcp")
        self._make("convert", SAMPLES / "zero3-w4", "universal", "--to", "universal")
        self._make("export", SAMPLES / "zero3-w4", "safetensors", "--format", "safetensors", "--shard-size", "2000")
        self._make("reshard", SAMPLES / "zero2-w2", "resharded", "--world-size", "3")
        self._make("skeleton", SAMPLES / "bf16opt-w2", "skeleton.zip")
        self._make("plan", "reshard", SAMPLES / "zero3-w4", "plan-target", "-w", "3", "-o", self.made / "plan.json")
        self.sources.append(self.made / "plan.json")
        for source in self.sources:
            self.names[source] = self._parameters(source)

    def close(self):
        shutil.rmtree(self.made, ignore_errors=True)

    def _call(self, words):
        return subprocess.run([str(self.program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=self.limit_seconds, preexec_fn=_limit)

    def _make(self, *words):
        """A source of a form that no sample has."""
        words = list(words)
        at = 3 if words[0] == "plan" else 2
        words[at] = self.made / words[at]
        done = self._call(words)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.stderr.decode(errors='replace')}")
        if words[0] != "plan":
            self.sources.append(words[at])

    def _parameters(self, source):
        done = self._call(["params", source, "--json"])
        try:
            return [param["name"] for param in json.loads(done.stdout)["parameters"]] or ["x"]
        except (ValueError, KeyError, TypeError):
            return ["x"]

    def case(self, seed):
        """None, or what was wrong."""
        chosen = random.Random(seed)
        folder = Path(tempfile.mkdtemp(prefix="shardscope-fuzz-"))
        try:
            source = chosen.choice(self.sources)
            copy = folder / source.name
            if source.is_dir():
                shutil.copytree(source, copy)
            else:
                shutil.copyfile(source, copy)
            done = mutations.damage(copy, chosen)
            is_plan = source.suffix == ".json"
            verbs = [verb for verb in VERBS if (verb[0] == "run") == is_plan]
            words = [self._word(word, copy, source, folder, chosen) for word in chosen.choice(verbs)]
            replay = f"{' '.join(words)}\n    after {'; '.join(done)}"
            wrong = self._judge(words, copy, chosen)
            if self.keep:
                shutil.copytree(folder, self.keep, symlinks=True, dirs_exist_ok=True)
                print(replay)
            return wrong and f"seed {seed}: {wrong}: {replay}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _word(self, word, copy, source, folder, chosen):
        word = word.replace("NAME", chosen.choice(self.names[source])) if "NAME" in word else word
        return word.replace("{}", str(copy)).replace("OTHER", str(source)).replace("OUT", str(folder / "out"))

    def _judge(self, words, copy, chosen):
        as_json = words[0] not in WITHOUT_JSON and chosen.random() < 0.7
        words = [*words, "--json"] if as_json else words
        before = trace(copy)
        try:
            done = self._call(words)
        except subprocess.TimeoutExpired:
            return f"no end within {self.limit_seconds} s"
        errors = done.stderr.decode(errors="replace").strip()
        if done.returncode < 0:
            return f"signal {-done.returncode} ({errors[-300:]})"
        if done.returncode not in EXIT_CODES:
            return f"exit {done.returncode} ({errors[-300:]})"
        if trace(copy) != before:
            return "the source was changed"
        return wrong_json(done) if as_json else None


def common_arguments(description):
    """The parser of a fuzzer, with the options that all have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shardscope", type=Path, required=True, help="the built command-line program")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="of the first case; the next has the next number (default: the time)")
    parser.add_argument("--repeat", type=int, metavar="SEED", help="run this one case")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="time of one run (default 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser


def run_cases(case, arguments):
    """Calls case(seed), which gives None or what was wrong, as the options ask. The exit status."""
    if arguments.repeat is not None:
        wrong = case(arguments.repeat)
        print(wrong or "nothing wrong")
        return 1 if wrong else 0
    seed = int(time.time()) * 1000 if arguments.seed is None else arguments.seed
    print(f"first seed {seed}", flush=True)
    end = time.monotonic() + arguments.minutes * 60
    count, failures = 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        while time.monotonic() < end:
            batch = range(seed + count, seed + count + 20)
            for wrong in pool.map(case, batch):
                if wrong:
                    failures += 1
                    print(wrong, flush=True)
            count += len(batch)
    print(f"{count} cases, {failures} failures")
    return 1 if failures else 0


def main():
    parser = common_arguments(__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --repeat: leave the damaged copy there")
    arguments = parser.parse_args()
    fuzzer = Fuzzer(arguments.shardscope.resolve(), arguments.limit, arguments.keep)
    try:
        return run_cases(fuzzer.case, arguments)
    finally:
        fuzzer.close()


if __name__ == "__main__":
    sys.exit(main())
