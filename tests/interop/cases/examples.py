# SPDX-License-Identifier: Apache-2.0
"""The examples of the Python package, each rank as a process of its own, with the real libraries."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from compare import checks
from runs import ranks

SOURCE = Path(__file__).resolve().parents[3]
EXAMPLES = SOURCE / "resources" / "examples"
GENERATOR = SOURCE / "packaging" / "python" / "generate_answers.py"
LIMIT_SECONDS = 300
ZERO_2 = {"gradient_accumulation_steps": 1, "zero_allow_untested_optimizer": True,
          "zero_force_ds_cpu_optimizer": False, "zero_optimization": {"stage": 2}, "steps_per_print": 1000000,
          "bf16": {"enabled": True}}


def python_package(context):
    """A folder with the Python package as the wheel has it."""
    folder = context.target("python package")
    subprocess.run([context.tool.program, "__schemas", folder / "schemas"], check=True)
    subprocess.run([sys.executable, GENERATOR, folder / "schemas", folder], check=True)
    return folder


def _run(context, script, world, arguments, **settings):
    """What rank 0 prints. Any rank that fails is a failure."""
    port = str(ranks.free_port())
    environment = {**os.environ, **settings, "SHARDSCOPE_PROGRAM": str(context.tool.program), "EXAMPLE_BACKEND": "gloo",
                   "PYTHONPATH": str(python_package(context)), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": port}
    started = [subprocess.Popen([sys.executable, EXAMPLES / script, *map(str, arguments)],
                                env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(world)]
    try:
        printed = [process.communicate(timeout=LIMIT_SECONDS)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    for rank, process in enumerate(started):
        if process.returncode != 0:
            raise checks.Failure(f"rank {rank} of {script} ended with {process.returncode}: {printed[rank][-2000:]}")
    return printed[0]


def _expect(printed, words):
    if words not in printed:
        raise checks.Failure(f"the example did not print “{words}”: {printed[-500:]}")


@dataclass(frozen=True)
class PlainExample:
    """Trains at one number of ranks, and again at another, where it reshards by itself."""
    name: str = "example of plain DeepSpeed 2->3"

    def run(self, context):
        run = context.target(self.name)
        _expect(_run(context, "deepspeed_plain.py", 2, [run]), "step 4 on 2 ranks, 0 errors")
        _expect(_run(context, "deepspeed_plain.py", 3, [run]), "step 8 on 3 ranks, 0 errors")
        return "resumed on 3 ranks"


@dataclass(frozen=True)
class TrainerExample:
    """The callback's record names the state that the resumed run loads."""
    name: str = "example of the Trainer 2->3"
    frameworks = True

    def run(self, context):
        output = context.target(self.name)
        config = context.work / "trainer-example.json"
        config.write_text(json.dumps({**ZERO_2, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}}))
        _run(context, "trainer.py", 2, [output, config], EXAMPLE_STEPS="8")
        _run(context, "trainer.py", 3, [output, config], EXAMPLE_STEPS="12")
        resumed = context.tool.call("fingerprint", Path(f"{output}-w3") / "checkpoint-8")["fingerprint"]
        record = json.loads((output / "checkpoint-8" / "shardscope-check.json").read_text())
        if record["errors"] or record["fingerprint"] != resumed:
            raise checks.Failure(f"recorded {record}, resumed from {resumed}")
        if context.tool.call("inspect", output / "checkpoint-12")["parallel"]["dp"] != 3:
            raise checks.Failure("the run did not continue on 3 ranks")
        return f"resumed from {resumed[:8]}…, as recorded"


@dataclass(frozen=True)
class AccelerateExample:
    name: str = "example of Accelerate 2"
    frameworks = True

    def run(self, context):
        output = context.target(self.name)
        config = context.work / "accelerate-example.json"
        config.write_text(json.dumps({**ZERO_2, "train_micro_batch_size_per_gpu": 6}))
        printed = _run(context, "accelerate_loop.py", 2, [output, config], ACCELERATE_USE_DEEPSPEED="true")
        _expect(printed, "pytorch_model: 0 errors, state ")
        if not (output / "random_states_1.pkl").exists():
            raise checks.Failure("the two processes did not know of each other")
        return "saved and checked"


def short_run():
    return [PlainExample()]


def full_run():
    return [PlainExample(), TrainerExample(), AccelerateExample()]
