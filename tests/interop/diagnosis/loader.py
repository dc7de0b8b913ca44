# SPDX-License-Identifier: Apache-2.0
"""The numbered checks of core/doctor/loader_checks.h against stock DeepSpeed: each violation is planted in a stock
checkpoint, `check` reports it, and stock refuses the checkpoint or loads other values."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from cases import parallel
from compare import checks, live_state
from diagnosis import loader_damage
from runs import ranks, sources, universal
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup

HEADER = Path(__file__).resolve().parents[3] / "core" / "doctor" / "loader_checks.h"
WORLD = 2
PLAIN = (universal.PLAIN_NAMES,)
ZERO2 = Setup(2, "bf16", shape=PLAIN, scheduler="config")
BF16 = Setup(1, "bf16", shape=PLAIN, bf16_optimizer=True, scheduler="config")
ZERO3 = Setup(3, "bf16", shape=PLAIN, sub_group_size=200, scheduler="config")


@dataclass(frozen=True)
class Kind:
    """Files of one kind: what saves them, what loads them, and what is planted in them."""
    setup: object
    damages: tuple
    universal: bool = False
    engine: object = None  # the engine that loads them, if not the saving one
    converter: object = None  # of `universal`; default: DeepSpeed's


KINDS = {
    "zero2": Kind(ZERO2, tuple(loader_damage.ZERO2)),
    "zero1": Kind(Setup(1, "fp32", scheduler="config"), tuple(loader_damage.ZERO1)),
    "bf16-optimizer": Kind(Setup(1, "bf16", bf16_optimizer=True, scheduler="config"),
                           tuple(loader_damage.BF16_OPTIMIZER)),
    "zero3": Kind(ZERO3, tuple(loader_damage.ZERO3)),
    "stage0": Kind(Setup(0, "fp32", scheduler="config"), tuple(loader_damage.STAGE_0)),
    "experts": Kind(ParallelSetup("experts", 2, "bf16"), tuple(loader_damage.EXPERTS)),
    "elastic fusedadam": Kind(Setup(2, "bf16", "fusedadam", elastic=True), tuple(loader_damage.ELASTIC)),
    "universal of zero2": Kind(ZERO2, tuple(loader_damage.UNIVERSAL), True, replace(ZERO2, universal=True)),
    "universal of bf16-optimizer": Kind(BF16, tuple(loader_damage.UNIVERSAL_BF16), True, replace(BF16, universal=True)),
    # The folders of shardscope's converter load in every stage.
    **{f"our universal of zero2 in {name}": Kind(ZERO2, tuple(damages), True, replace(engine, universal=True),
                                                 universal.tool_convert)
       for name, engine, damages in (("zero2", ZERO2, loader_damage.UNIVERSAL_VERSION),
                                     ("bf16-optimizer", BF16, loader_damage.UNIVERSAL_VERSION_WARNED),
                                     ("zero3", replace(ZERO3, sub_group_size=0), loader_damage.UNIVERSAL_VERSION_WARNED))},
    "universal of zero3": Kind(ZERO3, tuple(loader_damage.UNIVERSAL_3), True, replace(ZERO3, universal=True)),
}


class Refused(RuntimeError):
    """Stock raised an exception: in which call, and the exception."""


def _load(rank, world, setup, folder):
    """The state and the losses of one engine, or the exception that stops it."""
    from runs import parallel_training, training
    is_parallel = isinstance(setup, ParallelSetup)
    if is_parallel:
        engine = parallel_training.build_engine(setup, world, seed=99)
    else:
        # Stock does not change frozen parameters when it loads universal checkpoints.
        engine = training.build_engine(setup, world, seed=99, frozen_seed=17 if setup.universal else None)
    phase = "load"
    try:
        path, _ = engine.load_checkpoint(folder)
        if path is None:
            return "raised", phase, "returns None"
        phase = "first step"
        if is_parallel:
            state = parallel_training.local_state(engine, setup, rank, world)
            losses = parallel_training.train(engine, setup, rank, world, sources.STEPS_BEFORE, 2)
        else:
            state = live_state.local_state(engine, rank)
            losses = training.train(engine, rank, world, sources.STEPS_BEFORE, 2, shape=setup.shape)
        return "loaded", state, losses
    except Exception as error:
        lines = str(error).strip().splitlines()
        # Torch prints the module's name on a line of its own.
        text = " ".join(line.strip() for line in lines[:2]) if lines and lines[0].endswith(":") else (lines or [""])[0]
        return "raised", phase, f"{type(error).__name__}: {text}" if text else type(error).__name__


def load_each(rank, world, setup, folders):
    return [_load(rank, world, setup, folder) for folder in folders]


def load_alone(rank, world, setup, folder):
    """Ends all ranks with the first exception."""
    outcome = _load(rank, world, setup, folder)
    if outcome[0] == "raised":
        raise Refused(f"{outcome[1]}|{outcome[2]}")
    return outcome


@dataclass(frozen=True)
class Row:
    number: int
    kind: str
    what: str
    stock: str
    refuses: bool  # stock raises or has other values
    ours: str
    problem: str = ""


def _stock_alone(context, setup, folder, world):
    try:
        ranks.run_ranks(world, load_alone, setup, str(folder), log_path=context.sources.log)
    except ranks.RankFailure as failure:
        last = str(failure).strip().splitlines()[-1]
        phase, _, text = last.partition("Refused: ")[2].partition("|")
        if not text:
            raise
        return f"{text} (at the {phase})", True
    return "loads on every rank", False


def _stock_says(parts, intact):
    """Of one checkpoint: the outcomes of all ranks, and the states and losses of the intact checkpoint."""
    raised = [part for part in parts if part[0] == "raised"]
    if raised:
        return f"{raised[0][2]} (at the {raised[0][1]})", True
    try:
        found = live_state.differences(intact[0], live_state.merge([part[1] for part in parts]))
    except live_state.Disagreement as disagreement:
        found = [str(disagreement)]
    losses = sources.mean_losses([part[2] for part in parts])
    if not found and losses == intact[1]:
        return "loads, with the saved values", False
    return (f"loads silently, and then {len(found)} values differ, such as {found[0].partition(':')[0]}" if found else
            f"loads silently, and then the losses are {losses}, not {intact[1]}"), True


def _ours(context, folder, damage):
    """What `check` reports above info, and whether it is the code and the number of the damage."""
    command = [str(context.tool.program), "check", str(folder), "--json", "--depth", "metadata", "--fail-on", "never",
               "--progress", "none", *(("--for", f"world-size={damage.world}") if damage.world != WORLD else ())]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if ended.returncode != 0:
        raise checks.Failure(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr[-500:]}")
    found = [finding for result in json.loads(ended.stdout)["results"] for finding in result["findings"]
             if finding["severity"] != "info" or finding["code"] == damage.code]
    numbers = {int(number) for finding in found if finding["code"] == "loader-refuses"
               for number in re.findall(r"loader check (\d+) ", " ".join(finding["evidence"]))}
    codes = sorted({finding["code"] for finding in found} - {"loader-refuses"})
    text = ", ".join([*(f"loader-refuses ({number})" for number in sorted(numbers)), *codes])
    is_named = damage.number in numbers if damage.code == "loader-refuses" else damage.code in codes
    is_error = any(finding["severity"] == "error" for finding in found if finding["code"] == damage.code)
    return text or "nothing", is_named, numbers, is_error


def _row(context, kind, damage, folder, stock, refuses):
    ours, is_named, numbers, is_error = _ours(context, folder, damage)
    problem = ""
    if damage.warned:
        if refuses:
            problem = "stock does not load it in this engine"
        elif not is_named or is_error:
            problem = "the check does not warn of other engines"
    elif refuses and damage.number == 0:
        problem = "stock does not load it"
    elif refuses and not is_named:
        problem = "stock does not continue, and the check does not report it"
    elif not refuses and (numbers or damage.number > 0):
        problem = "stock continues"
    stock = stock.replace(f"{folder}/", "")
    return Row(damage.number, kind, damage.what, stock, refuses, ours, problem)


class LoaderRows:
    """Plants the damages of one kind and asks stock and `check` about each."""

    def __init__(self, context, name, numbers=()):
        self.context = context
        self.name = name
        self.kind = KINDS[name]
        self.engine = self.kind.engine or self.kind.setup
        self.damages = [loader_damage.Damage(0, "as saved", loader_damage.as_saved)]
        self.damages += [damage for damage in self.kind.damages if not numbers or damage.number in numbers]

    def _source(self):
        if isinstance(self.kind.setup, ParallelSetup):
            return parallel.source_of(self.context, self.kind.setup, WORLD).folder
        folder = self.context.sources.get(self.kind.setup, WORLD).folder
        if not self.kind.universal:
            return folder
        return (self.kind.converter or universal.stock_convert)(self.context, folder, self.context.target(f"loader {self.name} source"))

    def _plant(self):
        source = self._source()
        latest = "latest_universal" if self.kind.universal else "latest"
        tag = (source / latest).read_text(encoding="utf-8")
        for index, damage in enumerate(self.damages):
            folder = self.context.target(f"loader {self.name} {index}")
            shutil.copytree(source, folder)
            damage.plant(folder / tag)
            yield damage, folder

    def make(self):
        planted = list(self._plant())
        together = [(damage, folder) for damage, folder in planted if not damage.one_rank]
        parts = ranks.run_ranks(WORLD, load_each, self.engine, [str(folder) for _, folder in together],
                                log_path=self.context.sources.log)
        outcomes = list(zip(*parts))
        if any(part[0] == "raised" for part in outcomes[0]):
            raise checks.Failure(f"stock does not load the intact checkpoint: {outcomes[0][0][1:]}")
        intact = (live_state.merge([part[1] for part in outcomes[0]]),
                  sources.mean_losses([part[2] for part in outcomes[0]]))
        rows = [_row(self.context, self.name, damage, folder, *_stock_says(outcome, intact))
                for (damage, folder), outcome in zip(together, outcomes)]
        rows += [_row(self.context, self.name, damage, folder, *_stock_alone(self.context, self.engine, folder, damage.world))
                 for damage, folder in planted if damage.one_rank]
        return rows


def table(rows):
    lines = ["| check | files | violation | stock DeepSpeed | `shardscope check` |", "| --- | --- | --- | --- | --- |"]
    for row in sorted(rows, key=lambda row: row.number):
        cells = (str(row.number or "-"), row.kind, row.what, row.stock, row.ours)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n" + "\n".join(lines)


def _fail_on_problems(rows):
    wrong = [row for row in rows if row.problem]
    if wrong:
        listed = "\n".join(f"  check {row.number}, {row.kind}, {row.what}: {row.problem}" for row in wrong)
        raise checks.Failure(f"{len(wrong)} of {len(rows)} violations:\n{listed}{table(rows)}")


_made = {}


def rows_of(context, kind):
    key = (context.work, kind)
    if key not in _made:
        _made[key] = LoaderRows(context, kind).make()
    return _made[key]


@dataclass(frozen=True)
class LoaderChecks:
    """Violations in files of one kind. `numbers`: only of these checks."""
    kind: str
    numbers: tuple = ()

    @property
    def name(self):
        return f"loader checks {self.kind}{' in short' if self.numbers else ''}"

    def run(self, context):
        rows = LoaderRows(context, self.kind, self.numbers).make() if self.numbers else rows_of(context, self.kind)
        _fail_on_problems(rows)
        return f"{len(rows)} checkpoints{table(rows) if self.numbers else ''}"


@dataclass(frozen=True)
class EveryLoaderCheck:
    """Each number of the header has a violation that stock refuses and that `check` reports."""
    name: str = "loader checks: every number"

    def run(self, context):
        rows = [row for kind in KINDS for row in rows_of(context, kind)]
        enum = re.search(r"enum class LoaderCheckId[^{]*\{(.*?)\};", HEADER.read_text(encoding="utf-8"), re.DOTALL)
        numbers = {int(number) for number in re.findall(r"= (\d+),", enum[1])}
        seen = {row.number for row in rows if row.refuses and not row.problem} & numbers
        text = f"{len(seen)} of {len(numbers)} checks, {len(rows)} checkpoints"
        if seen != numbers:
            raise checks.Failure(f"{text}; without a violation: {sorted(numbers - seen)}{table(rows)}")
        _fail_on_problems(rows)
        return text + table(rows)


def short_run():
    return [LoaderChecks("zero2", (7, 11, 30, 33, 36))]


def full_run():
    return [*(LoaderChecks(kind) for kind in KINDS), EveryLoaderCheck()]
