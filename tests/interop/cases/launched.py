# SPDX-License-Identifier: Apache-2.0
"""A launch script of three lines with `ensure`: killed on one number of ranks, started again on another."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from compare import checks
from runs import ranks

TRAINING = Path(__file__).resolve().parents[1] / "runs" / "launched.py"
LIMIT_SECONDS = 300
STEPS = 10
# The last digits of a sum depend on the number of ranks that it comes from.
TOLERANCE = 1e-4

SCRIPT = """#!/bin/sh
FOUND=$("$SHARDSCOPE" ensure "$1" --world-size "$2")
exec "$PYTHON" -m torch.distributed.run --nproc_per_node "$2" --master_port "$PORT" "$TRAINING" "$1" "$FOUND" $3 $4
"""


@dataclass(frozen=True)
class LaunchScript:
    """Losses after a restart are those of the run that was never killed."""
    name: str = "launch script with ensure, killed on 3, restarted on 2"

    def run(self, context):
        script = context.work / "launch.sh"
        script.write_text(SCRIPT)
        whole = self._launch(context, script, f"{self.name} whole", 3, STEPS)
        if sorted(whole) != list(range(1, STEPS + 1)):
            raise checks.Failure(f"the run printed the steps {sorted(whole)}")
        self._launch(context, script, self.name, 3, STEPS, killed_at=6)
        resumed = self._launch(context, script, self.name, 2, STEPS)
        if sorted(resumed) != list(range(5, STEPS + 1)):
            raise checks.Failure(f"it resumed with the steps {sorted(resumed)}")
        worst = max(abs(resumed[step] - whole[step]) / whole[step] for step in resumed)
        if not worst < TOLERANCE:
            raise checks.Failure(f"losses differ by {worst:.1e}: {whole} and {resumed}")
        return f"losses of steps 5 to {STEPS} differ by {worst:.0e} at most"

    def _launch(self, context, script, name, world, steps, killed_at=None):
        """The losses by step."""
        run = context.work / name.replace(" ", "-").replace(",", "")
        run.mkdir(exist_ok=True)
        environment = {**os.environ, "SHARDSCOPE": str(context.tool.program), "PYTHON": sys.executable,
                       "PORT": str(ranks.free_port()), "TRAINING": str(TRAINING)}
        words = ["sh", script, run, str(world), str(steps), *([str(killed_at)] if killed_at else [])]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT_SECONDS)
        if (done.returncode == 0) == bool(killed_at):
            raise checks.Failure(f"the script ended with {done.returncode}: {done.stdout[-2000:]}")
        return {int(step): float(loss) for step, loss in re.findall(r"step (\d+) loss ([\d.]+)", done.stdout)}


def short_run():
    return [LaunchScript()]
