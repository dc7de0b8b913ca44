# SPDX-License-Identifier: Apache-2.0
"""Training scripts under a framework, unchanged: `python -m shardscope.run` lets them go on at another number of ranks and
in another ZeRO stage, from the checkpoint itself."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

from cases.examples import python_package
from cases.live import SCRIPTS, content, environment_of, run_processes
from compare import checks
from runs.wrappers import MISSING

STEPS = 3  # of each start
LIMIT_SECONDS = 200


@dataclass(frozen=True)
class Unchanged:
    """Begins, and goes on at other numbers of ranks. The losses are those of one run without a break and without Shardscope,
    each process that was there before has its random states, and nothing but a new checkpoint was written."""
    framework: str  # of runs/…_script.py
    stages: tuple
    worlds: tuple
    words: tuple = ()  # of the script, too
    frameworks = True  # needs requirements-wrappers.txt

    @property
    def name(self):
        moves = "->".join(f"zero{stage} {world}" for stage, world in zip(self.stages, self.worlds))
        return " ".join(("live", self.framework, *self.words, moves))

    def run(self, context):
        environment = {**environment_of(context, python_package(context)), "HF_HUB_OFFLINE": "1"}
        output, temporary = context.target(self.name), context.work / "temporary"
        temporary.mkdir(exist_ok=True)
        losses, saved, known = {}, [], {}
        for number, (stage, world) in enumerate(zip(self.stages, self.worlds), 1):
            printed = self._start(stage, output, number * STEPS, world, {**environment, "TMPDIR": str(temporary)})
            results = [json.loads(line.split(" ", 1)[1]) for text in printed for line in text.splitlines()
                       if line.startswith("result ")]
            if len(results) != world:
                raise checks.Failure(f"{len(results)} of {world} ranks print a result: {printed}")
            losses.update(self._losses(results, world, losses))
            self._check_random_states(saved, results, printed)
            saved = [result.get("saved") for result in results]
            known = self._check_files(known, output, temporary)
        alone = self._start(self.stages[0], context.target(f"{self.name} without a break"), len(losses), 1, environment,
                            module=())
        reference = self._losses([json.loads(alone[0].split("\nresult ")[1])], 1, {})
        deviation = checks.losses_track(list(reference.values()), list(losses.values()), checks.TOLERANCE["fp32"])
        return f"{len(losses)} steps, loss deviation {deviation:.1e}"

    def _start(self, stage, output, steps, world, environment, module=("-m", "shardscope.run")):
        command = [sys.executable, *module, SCRIPTS / f"{self.framework}_script.py", str(stage), output, str(steps),
                   *self.words]
        if self.framework != "lightning":
            return run_processes([command] * world, environment)
        # Lightning starts the other ranks itself.
        process = subprocess.Popen([*command, str(world)], env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            printed = process.communicate(timeout=LIMIT_SECONDS)[0]
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # all have ended
        if process.returncode != 0:
            raise checks.Failure(f"the script ended with {process.returncode}: {printed[-2000:]}")
        return [printed]

    @staticmethod
    def _losses(results, world, before):
        """The mean over the ranks of each step, which all of them report."""
        if any(result["losses"] != results[0]["losses"] for result in results):
            raise checks.Failure(f"the ranks answered {results}")
        losses = {int(step): loss for step, loss in results[0]["losses"].items()}
        if world != 1 or before:
            if list(losses) != list(range(len(before) + 1, len(before) + STEPS + 1)):
                raise checks.Failure(f"after {len(before)} steps the script made steps {list(losses)}")
        return losses

    def _check_random_states(self, saved, results, printed):
        if self.framework == "lightning":
            return  # saves none
        for rank, result in enumerate(results):
            is_kept = rank < len(saved)
            if is_kept and result["first"] != saved[rank]:
                raise checks.Failure(f"process {rank} continues with other random states")
            # Accelerate logs it on the first process only.
            if saved and self.framework == "trainer" and (MISSING in printed[rank]) == is_kept:
                raise checks.Failure(f"of its random states process {rank} prints: {printed[rank][-2000:]}")

    @staticmethod
    def _check_files(known, output, temporary):
        """Nothing of before was changed or added to, and no temporary file is left."""
        now = content(output)
        roots = {path for path in now if path.parent == output and path not in known}
        added = {path for path in now if path not in known and not roots.intersection((path, *path.parents))}
        changed = {path for path in known if now.get(path) != known[path]}
        if len(roots) != 1 or added or changed:
            raise checks.Failure(f"written: {sorted(map(str, roots | added))}, changed: {sorted(map(str, changed))}")
        left = [path.name for path in temporary.iterdir() if path.name.startswith("shardscope")]
        if left:
            raise checks.Failure(f"temporary files are left: {left}")
        return now


def short_run():
    return [Unchanged("trainer", (2, 2, 3), (2, 3, 1))]


def full_run():
    worlds = (2, 3, 1)
    return [*(Unchanged(framework, stages, worlds) for framework in ("trainer", "accelerate", "lightning")
              for stages in ((2, 2, 3), (3, 3, 2))),
            Unchanged("trainer", (1, 1), (1, 2)),
            *(Unchanged("trainer", (stage, stage, stage), worlds, ("lora",)) for stage in (2, 3))]
