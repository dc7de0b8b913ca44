# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that another number of ranks loads without a copy (shardscope.deepspeed)."""

import functools
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from cases import parallel
from cases.examples import python_package
from compare import checks
from runs import live, ranks, universal
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup


SCRIPTS = Path(__file__).resolve().parents[1] / "runs"


def content(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def environment_of(context, package):
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "SHARDSCOPE_PROGRAM": str(context.tool.program), "PYTHONPATH": path}


def run_processes(commands, environment):
    """What each rank of a script prints. Any that fails is a failure."""
    settings = {**environment, "WORLD_SIZE": str(len(commands)), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(ranks.free_port())}
    started = [subprocess.Popen(command, env={**settings, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank, command in enumerate(commands)]
    try:
        printed = [process.communicate(timeout=200)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    for rank, process in enumerate(started):
        if process.returncode != 0:
            raise checks.Failure(f"rank {rank} ended with {process.returncode}: {printed[rank][-2000:]}")
    return printed


@dataclass(frozen=True)
class Live:
    """Save at one world size, load at another: the state is the same bit for bit, the losses continue the same, and
    nothing is written next to the source."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    options: tuple = field(default=())
    through_dcp: bool = False  # a distributed checkpoint of torch's form has no tag and no pointer

    @property
    def name(self):
        way = " through dcp" if self.through_dcp else ""
        return f"live {self.setup.name} {self.before}->{self.engine.name} {self.after}{way}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = source.folder
        if self.through_dcp:
            folder = context.target(f"{self.name} source")
            context.tool.call("convert", source.folder, folder, "--to", "dcp")
        live.prepare(python_package(context), context.tool.program)
        target = context.target(self.name)  # is never made
        fits = (self.setup, self.before) == (self.engine, self.after)
        live.record(folder, target, self.options, stock_alone=fits)
        before = content(folder)
        state, losses, client = context.sources.resume(self.engine, self.after, target)
        if target.exists():
            raise checks.Failure("a copy was made")
        if content(folder) != before:
            raise checks.Failure("the source was changed")
        tensors = checks.same_state_but(source.state, state, universal.scaler_changes(self.setup, self.engine))
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.engine.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


def _load_refused(rank, world, setup, folder, breaks, lacks):
    """The error of loading, and whether the engine is as before. `breaks`: this rank lacks something."""
    import os
    import tempfile
    import warnings

    from compare import live_state
    from runs.training import build_engine, train
    from shardscope import ShardscopeError
    from shardscope.deepspeed import load_checkpoint
    engine = build_engine(setup, world, seed=99)
    train(engine, rank, world, 0, 1, shape=setup.shape)  # so that there is a state
    before, inner = live_state.local_state(engine, rank), engine.checkpoint_engine
    if rank == breaks and lacks == "temporary folder":
        tempfile.tempdir = "/absent"
    elif rank == breaks and lacks == "tolerance of warnings":
        warnings.simplefilter("error")
    elif rank == breaks:
        os.environ["SHARDSCOPE_PROGRAM"] = "/absent/shardscope"
    try:
        load_checkpoint(engine, folder)
    except ShardscopeError as error:
        return error.code, str(error), live_state.differences(before, live_state.local_state(engine, rank)), (
            engine.checkpoint_engine is inner)
    return None


@dataclass(frozen=True)
class Refused:
    """What cannot be loaded is the same error on every rank, and no engine is changed."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    code: str
    breaks: int = -1  # the rank that lacks something
    lacks: str = "program"

    @property
    def name(self):
        suffix = f" without a {self.lacks} on rank {self.breaks}" if self.breaks >= 0 else ""
        return f"live refused {self.setup.name} {self.before}->{self.engine.name} {self.after}{suffix}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        live.prepare(python_package(context), context.tool.program)
        results = ranks.run_ranks(self.after, _load_refused, self.engine, str(source.folder), self.breaks, self.lacks,
                                  log_path=context.sources.log)
        if None in results or len({result[:2] for result in results}) != 1 or results[0][0] != self.code:
            raise checks.Failure(f"the ranks answered {results}")
        if any(changed or not same for _, _, changed, same in results):
            raise checks.Failure(f"an engine was changed: {results}")
        return f"on {self.after} ranks: {results[0][1]}"


def _load_damaged(rank, world, setup, folder, options):
    """The error of loading, and what it changed in the engine."""
    from compare import live_state
    from runs import victims
    from shardscope import ShardscopeError
    from shardscope.deepspeed import load_checkpoint
    engine, train = victims.build(setup, rank, world)
    train(engine, 0)  # so that there is a state
    before, inner = live_state.own_state(engine, rank), engine.checkpoint_engine
    try:
        load_checkpoint(engine, folder, **options)
    except ShardscopeError as error:
        return error.code, str(error), live_state.differences(before, live_state.own_state(engine, rank)), (
            engine.checkpoint_engine is inner)
    return None


def _damage(path):
    """Flips a byte in the middle of the largest record of a file of torch."""
    with zipfile.ZipFile(path) as archive:
        record = max(archive.infolist(), key=lambda one: one.file_size if "/data/" in one.filename else -1)
    with open(path, "r+b") as file:
        file.seek(record.header_offset + 26)
        names = int.from_bytes(file.read(2), "little") + int.from_bytes(file.read(2), "little")
        file.seek(record.header_offset + 30 + names + record.file_size // 2)
        value = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([value ^ 0x10]))


@dataclass(frozen=True)
class Damaged:
    """A damaged file is the same error on every rank, also where only one of them reads it, and no engine is changed."""
    setup: object
    before: int
    after: int
    file: str
    options: tuple = ()

    @property
    def name(self):
        options = "".join(f" {name}={value}" for name, value in self.options)
        return f"live damaged {self.setup.name} {self.before}->{self.after} {self.file}{options}"

    def run(self, context):
        is_plain = isinstance(self.setup, Setup)
        saved = context.sources.get if is_plain else functools.partial(parallel.source_of, context)
        source = saved(self.setup, self.before)
        live.prepare(python_package(context), context.tool.program)
        folder = context.target(self.name)
        shutil.copytree(source.folder, folder)
        _damage(folder / (folder / "latest").read_text() / self.file)
        results = ranks.run_ranks(self.after, _load_damaged, self.setup, str(folder), dict(self.options),
                                  log_path=context.sources.log)
        if None in results or len({result[:2] for result in results}) != 1 or self.file not in results[0][1]:
            raise checks.Failure(f"the ranks answered {results}")
        if any(changed or not same for _, _, changed, same in results):
            raise checks.Failure(f"an engine was changed: {results}")
        return f"on {self.after} ranks: {results[0][1].replace(str(folder), '')}"


@dataclass(frozen=True)
class Script:
    """A script that knows nothing of this begins, goes on at another number of ranks, and in another stage, each time by
    `python -m shardscope.run`. Its losses are those of one run without a break."""
    stages: tuple = (2, 2, 3)
    worlds: tuple = (2, 3, 1)

    @property
    def name(self):
        return "live script " + "->".join(f"zero{stage} {world}" for stage, world in zip(self.stages, self.worlds))

    def run(self, context):
        package, run = python_package(context), context.target(self.name)
        run.mkdir(parents=True)
        losses = []
        for stage, world in zip(self.stages, self.worlds):
            printed = self._ranks(context, package, stage, world, run)
            losses += [sum(step) / world for step in zip(*(eval(text.split("losses ")[1]) for text in printed))]
            expected = "began fresh" if len(losses) == 3 else f"began global_step{len(losses) - 3}/"
            if not all(expected in text for text in printed):
                raise checks.Failure(f"the ranks printed {printed}")
        alone = context.target(f"{self.name} without a break")
        reference = []
        for _ in self.stages:
            text = self._ranks(context, package, self.stages[0], 1, alone)[0]
            reference += eval(text.split("losses ")[1])
        deviation = checks.losses_track(reference, losses, checks.TOLERANCE["fp32"])
        return f"{len(losses)} steps, loss deviation {deviation:.1e}"

    @staticmethod
    def _ranks(context, package, stage, world, run):
        # As the launcher of DeepSpeed does it with --module.
        printed = run_processes([
            [sys.executable, "-m", "shardscope.run", f"--local_rank={rank}", SCRIPTS / "plain_script.py", str(stage), run]
            for rank in range(world)], environment_of(context, package))
        for rank, text in enumerate(printed):
            if "losses " not in text:
                raise checks.Failure(f"rank {rank} printed {text[-2000:]}")
        return [text[text.index("began"):] for text in printed]


PLAIN = [Setup(1, "bf16"), Setup(2, "bf16"), Setup(3, "bf16", sub_group_size=200), Setup(2, "fp16"),
         Setup(3, "fp32", sub_group_size=1000), Setup(1, "bf16", bf16_optimizer=True)]

REFUSED = [Refused(PLAIN[1], 2, PLAIN[5], 3, "unsupported"), Refused(PLAIN[5], 2, PLAIN[0], 3, "unsupported"),
           Refused(PLAIN[2], 2, Setup(2, "bf16", round_robin=True), 3, "refused"),
           Refused(PLAIN[3], 2, PLAIN[1], 3, "refused"),
           Refused(PLAIN[1], 2, PLAIN[1], 3, "not-found", breaks=0),
           Refused(PLAIN[2], 2, PLAIN[2], 3, "not-found", breaks=2),
           Refused(PLAIN[1], 2, PLAIN[1], 3, "internal", breaks=1, lacks="temporary folder"),
           Refused(PLAIN[1], 2, PLAIN[1], 3, "internal", breaks=0, lacks="tolerance of warnings")]

EXPERTS, PIPELINE = ParallelSetup("experts", 2, "bf16"), ParallelSetup("pipeline", 1, "bf16")
DAMAGED = [Damaged(PLAIN[1], 2, 3, "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"),
           Damaged(PLAIN[2], 2, 3, "zero_pp_rank_1_mp_rank_00_model_states.pt"),
           Damaged(EXPERTS, 4, 2, "layer_0_expert_3_mp_rank_00_model_states.pt"),
           Damaged(EXPERTS, 4, 2, "layer_0_expert_0_mp_rank_00_model_states.pt", (("verify", False),)),
           Damaged(PIPELINE, 4, 2, "layer_03-model_states.pt")]


def full_run():
    return ([Live(setup, before, setup, after) for setup in PLAIN for before, after in ((2, 3), (3, 1), (4, 4))]
            + REFUSED + DAMAGED + [Script(), Live(PLAIN[1], 2, PLAIN[2], 3), Live(PLAIN[2], 3, PLAIN[1], 2), Live(PLAIN[0], 4, PLAIN[1], 2),
                                     Live(PLAIN[1], 2, PLAIN[1], 3, through_dcp=True)])


def short_run():
    return [Live(PLAIN[1], 2, PLAIN[1], 3), Live(PLAIN[2], 3, PLAIN[2], 1), Live(PLAIN[1], 2, PLAIN[2], 3),
            Live(PLAIN[0], 4, PLAIN[0], 4), Live(PLAIN[1], 2, PLAIN[1], 3, through_dcp=True), *REFUSED, *DAMAGED, Script()]


def older_run():
    """In 0.16 bf16 without ZeRO is BF16_Optimizer."""
    return [*full_run(), Refused(PLAIN[2], 3, Setup(0, "bf16"), 2, "unsupported")]
