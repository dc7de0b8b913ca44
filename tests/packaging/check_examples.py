# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of README and manual: check_examples.py PROGRAM SOURCE.

In a ```console block, lines with "$ " are commands and the others are lines of their output, in this order; "…" stands
for anything. Each page starts with fresh runs: runs/llama is a sample of ZeRO-2, runs/llama-z3 one of ZeRO-3. An
example is expected to exit with 0, or with 1 where its answer is negative.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
RUNS = {"runs/llama": "zero2-w2", "runs/llama-z3": "zero3-w4"}
DAMAGE = "A file is lost."  # from this sentence on, the file of rank 1 is missing
# Installing is a test of its own, and windows are tested with Qt Test.
NOT_RUN = ("pip", "shardscope-gui", "uvx", "sudo")

problems = []
count = 0


HOME = "/home/me/"  # stands for the folder of the runs


def matches(expected, line):
    expected = expected.replace(HOME, "…")
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, line.rstrip()) is not None


def compare(page, command, expected, output):
    """Each expected line occurs in the output after the one before it."""
    lines = iter(output.splitlines())
    for line in expected:
        line = line.rstrip()
        if not line.replace("…", "").strip():
            continue
        if not any(matches(line, found) for found in lines):
            problems.append(f"{page}: `{command}` does not print: {line}\n{output[:1500]}")
            return


def examples(text):
    """(command, expected lines) of every console block."""
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.S):
        command, expected = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
        if command:
            yield command, expected


def run_page(path):
    global count
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(SOURCE)
    lost = text.find(DAMAGE)
    with tempfile.TemporaryDirectory() as folder:
        for run, sample in RUNS.items():
            shutil.copytree(SOURCE / "tests/data/samples" / sample, Path(folder) / run)
        (Path(folder) / "bin").mkdir()
        (Path(folder) / "bin/shardscope").symlink_to(PROGRAM)
        environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "NO_COLOR": "1"}
        for part, missing in ((text[:lost], False), (text[lost:], True)) if lost >= 0 else ((text, False),):
            if missing:
                for file in Path(folder).glob("runs/llama/global_step6/*rank_1_*"):
                    file.unlink()
            for command, expected in examples(part):
                if shlex.split(command)[0] in NOT_RUN:
                    continue
                count += 1
                done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                if done.returncode not in (0, 1):
                    problems.append(f"{name}: `{command}` exits with {done.returncode}\n{done.stdout}")
                compare(name, command, expected, done.stdout)


for page in [SOURCE / "README.md", *sorted((SOURCE / "resources/manual").glob("*.md"))]:
    run_page(page)
if count < 20:
    problems.append(f"only {count} examples were found")
print("\n\n".join(problems) or f"{count} examples run")
sys.exit(1 if problems else 0)
