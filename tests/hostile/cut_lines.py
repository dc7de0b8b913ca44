#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts the line to another host at random moments, in commands that read and in jobs.

    tests/hostile/slow_line.py tests/hostile/cut_lines.py --shardscope build/release/app/cli/shardscope --minutes 10

`node7` is reached by $SHARDSCOPE_SSH, which slow_line.py sets, and is this machine. A process of ssh is killed, or
stopped, which is a line that is silent. Reported are: a command that takes longer than `--limit` (default here: 35 s),
an exit code that it cannot have, an answer that is not one JSON object, and a job that does not complete, as `verify`
proves, when the same command is run again. Standard library only.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz import SAMPLES, common_arguments, run_cases, wrong_json

SOURCE, OTHER = SAMPLES / "zero3-w4", SAMPLES / "zero2-w2"
CUT_CODES = {0, 1, 3, 5, 6, 130}
AGAIN = 6  # a host notices within seconds that nobody listens any more
READING = [line.split() for line in """
    inspect FAR
    params FAR
    layout FAR
    stats FAR
    check FAR --depth bytes
    fingerprint FAR
    verify FAR
    diff FAR node7:OTHER
    diff FAR OTHER
""".strip().splitlines()]
WRITING = [line.split() for line in """
    reshard FAR node7:OUT -w 2
    reshard FAR node7:OUT -w 8
    reshard FAR OUT -w 3
    export FAR node7:OUT
""".strip().splitlines()]


class Cuts:
    def __init__(self, program, limit_seconds):
        self.program = program
        self.limit_seconds = limit_seconds
        self.work = Path(tempfile.mkdtemp(prefix="shardscope-cuts-"))
        self.cut = 0
        self.longest = 0.0

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def case(self, seed):
        rng = random.Random(seed)
        out = self.work / str(seed)
        words = [word.replace("FAR", f"node7:{SOURCE}").replace("OTHER", str(OTHER)).replace("OUT", str(out))
                 for word in rng.choice(READING if rng.random() < 0.4 else WRITING)] + ["--json"]
        began = time.monotonic()
        running = subprocess.Popen([self.program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(rng.uniform(0, 1.6))
        silent = self._cut(running.pid, signal.SIGSTOP if rng.random() < 0.1 else signal.SIGKILL)
        try:
            stdout, stderr = running.communicate(timeout=self.limit_seconds)
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
            return f"seed {seed}: longer than {self.limit_seconds:.0f} s: {' '.join(words)}"
        finally:
            for process in silent:
                self._signal(process, signal.SIGKILL)
        self.longest = max(self.longest, time.monotonic() - began)
        if running.returncode not in CUT_CODES:
            return f"seed {seed}: exit {running.returncode} ({stderr[-300:]}): {' '.join(words)}"
        done = subprocess.CompletedProcess(words, running.returncode, stdout, stderr)
        if stdout and wrong_json(done):
            return f"seed {seed}: {wrong_json(done)}: {' '.join(words)}"
        wrong = self._completes(words, out, running.returncode) if str(out) in " ".join(words) else None
        return wrong and f"seed {seed}: {wrong}: {' '.join(words)}"

    def _cut(self, process, number):
        children = Path(f"/proc/{process}/task/{process}/children")
        try:
            found = [int(child) for child in children.read_text().split()]
        except OSError:  # it has ended
            return []
        self.cut += bool(found)
        for child in found:
            self._signal(child, number)
        return found if number == signal.SIGSTOP else []

    @staticmethod
    def _signal(process, number):
        try:
            os.kill(process, number)
        except OSError:
            pass

    def _completes(self, words, out, code):
        for _ in range(AGAIN):
            if code == 0:
                break
            again = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
            code = 0 if "target-exists" in again.stdout else again.returncode  # the job went on without its view
            time.sleep(0.0 if code == 0 else 1.0)
        else:
            return f"not completed ({again.stdout[-300:]})"
        if words[0] == "export":
            return None if list(out.rglob("*.safetensors")) else "no export is there"
        verified = subprocess.run([self.program, "verify", out, "--against", SOURCE], capture_output=True, text=True,
                                  check=False)
        return None if verified.returncode == 0 else f"verify: {verified.stdout[-300:]}{verified.stderr[-300:]}"


def main():
    parser = common_arguments(__doc__)
    parser.set_defaults(limit=35.0)
    arguments = parser.parse_args()
    cuts = Cuts(arguments.shardscope.resolve(), arguments.limit)
    try:
        return run_cases(cuts.case, arguments)
    finally:
        print(f"{cuts.cut} lines cut, longest command {cuts.longest:.1f} s")
        cuts.close()


if __name__ == "__main__":
    sys.exit(main())
