# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of NVMe offload, completed into ordinary shards: stock DeepSpeed cannot resume the former. It loads the
latter without offload, with the state of the live engine."""

import shutil
from dataclasses import dataclass

from cases.stock import must_fail
from compare import checks
from diagnosis.doctor import find, repair
from runs import nvme, ranks
from runs.nvme import Offload
from runs.setups import Setup


def _inspect(context, folder, *options):
    inspected = context.tool.call("inspect", folder, *options)
    if not inspected["supported"]:
        raise checks.Failure(f"inspect says: {inspected['why_not']}")
    return inspected


def _codes(inspected):
    return {finding["code"] for finding in inspected["findings"]}


def _continued(context, setup, world):
    """The losses of stock that loads its own checkpoint without the offload. On one rank in bf16 they are not those of
    the run that continues with it."""
    key = ("continued", setup, world)
    if key not in context.swapped:
        source = nvme.made(context, Offload("cpu", "cpu"), world, setup)
        context.swapped[key] = context.sources.resume(setup, world, source.folder)[1]
    return context.swapped[key]


def _resume(context, source, folder, world, setup, before):
    """The state is equal bit for bit. So are the losses with the same number of ranks; in fp32 they are close with
    others."""
    state, losses, client = context.sources.resume(setup, world, folder)
    tensors = checks.same_state(source.state, state)
    checks.same_client_state(client)
    text = f"{tensors} tensors bit-equal"
    if world != before and setup.precision != "fp32":
        return text
    if world == before:
        return f"{text}, loss deviation {checks.losses_track(_continued(context, setup, world), losses, 0.0):.1e}"
    return f"{text}, loss deviation {checks.losses_track(source.losses, losses, checks.TOLERANCE[setup.precision]):.1e}"


def _no_swap_files(folder):
    left = [path for path in folder.rglob("*") if "offloaded" in path.name or path.suffix == ".swp"]
    if left:
        raise checks.Failure(f"swap files among what was written: {left}")


@dataclass(frozen=True)
class Complete:
    """Trained with offload, saved, completed, loaded without: masters, moments, steps and options equal the
    live engine's, and the losses continue."""
    offload: Offload
    before: int
    after: int
    setup: Setup = nvme.SETUP

    @property
    def name(self):
        return f"nvme {self.offload.name} {self.setup.precision} {self.before}->{self.after}"

    def run(self, context):
        source = nvme.made(context, self.offload, self.before, self.setup)
        if not source.swapped and self.offload.optimizer == "nvme":
            raise checks.Failure("no sub-group is large enough to be swapped")
        inspected = _inspect(context, source.folder)
        if inspected["findings"] and _codes(inspected) != {"swap-copy"}:
            raise checks.Failure(f"inspect finds {inspected['findings']}")
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        _no_swap_files(target)
        same = _resume(context, source, target, self.after, self.setup, self.before)
        return f"{len(source.swapped)} sub-groups from swap files, {same}"


@dataclass(frozen=True)
class Convert:
    """The same through a universal folder, which is written from the swap files as well."""
    offload: Offload
    before: int
    after: int

    @property
    def name(self):
        return f"nvme {self.offload.name} {self.before}->universal->{self.after}"

    def run(self, context):
        source = nvme.made(context, self.offload, self.before, nvme.FP32_SETUP)
        folder, target = context.target(f"{self.name} folder"), context.target(self.name)
        context.tool.convert(source.folder, folder)
        _no_swap_files(folder)
        context.tool.reshard(folder, target, self.after)
        return _resume(context, source, target, self.after, nvme.FP32_SETUP, self.before)


@dataclass(frozen=True)
class StaleTensors:
    """Pipelined swapping leaves stale tensors in the optimizer files: they are reported, and never used."""
    before: int

    @property
    def name(self):
        return f"nvme pipelined: stale tensors of {self.before} ranks are reported"

    def run(self, context):
        source = nvme.made(context, nvme.STALE, self.before, nvme.STALE_SETUP)
        inspected = _inspect(context, source.folder)
        found = [finding for finding in inspected["findings"] if finding["code"] == "swap-copy"]
        if len(found) != 1:
            raise checks.Failure(f"inspect finds {inspected['findings']}")
        expected = nvme.stale_tensors(source)
        named = {line.removeprefix("differs: ") for line in found[0]["evidence"] if line.startswith("differs: ")}
        if not expected:
            raise checks.Failure("no tensor of the optimizer files is stale: the run shows nothing")
        if not named <= expected or (len(expected) <= 8 and named != expected):
            raise checks.Failure(f"inspected {sorted(named)}, and {sorted(expected)} differ")
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.before)
        state, *_ = context.sources.resume(nvme.STALE_SETUP, self.before, target)
        checks.same_state(source.state, state)
        return f"{len(expected)} tensors differ from the swap files, none was used"


@dataclass(frozen=True)
class LiveFolder:
    """Without offloaded_tensors the run's own swap folder is used, unless the run continued after the save."""
    offload: Offload
    before: int
    after: int

    @property
    def name(self):
        return f"nvme live swap folder {self.offload.name} {self.before}->{self.after}"

    def run(self, context):
        kept = nvme.made(context, self.offload, self.before)
        source = nvme.made(context, self.offload, self.before, trains_on=False)
        alone = context.target(f"{self.name} alone")
        shutil.copytree(source.folder, alone, ignore=shutil.ignore_patterns("offloaded_tensors"))
        if "swap-missing" not in _codes(context.tool.call("inspect", alone)):
            raise checks.Failure("swap files are missing, and inspect does not say so")
        context.tool.call("reshard", alone, context.target(f"{self.name} refused"), "--world-size", self.after, expect=6)
        target = context.target(self.name)
        context.tool.reshard(alone, target, self.after, "--root", source.swap_folder)
        state, *_ = context.sources.resume(nvme.SETUP, self.after, target)
        tensors = checks.same_state(source.state, state)
        # The run of the other source continued after its save: its swap folder is of another step.
        inspected = context.tool.call("inspect", kept.folder, "--root", kept.swap_folder)
        if "swap-mismatch" not in _codes(inspected):
            raise checks.Failure("the swap folder is of another step, and inspect does not say so")
        context.tool.call("reshard", kept.folder, context.target(f"{self.name} mixed"), "--world-size", self.after,
                          "--root", kept.swap_folder, expect=6)
        return f"{tensors} tensors bit-equal from the live folder; refused once the run continued"


@dataclass(frozen=True)
class Repaired:
    """The doctor on checkpoints of NVMe offload: complete ones become ordinary, lost and mixed swap files are refilled
    from a copy of the same step with another number of ranks. Nothing may differ from what the engine held."""
    offload: Offload
    before: int
    damage: str

    CODES = {"none": "swap-copy", "lost": "swap-missing", "mixed": "swap-mismatch"}

    @property
    def name(self):
        return f"doctor nvme swap files {self.damage} {self.offload.name} {self.before}"

    def _damage_copy(self, source, folder):
        rank = folder / (folder / "latest").read_text() / "offloaded_tensors" / "rank00"
        moment = min(path for path in rank.glob("exp_avg-*"))
        square = moment.with_name(moment.name.replace("exp_avg-", "exp_avg_sq-"))
        if self.damage == "lost":
            shutil.rmtree(rank)
        if self.damage == "mixed":
            aside = rank / "aside"
            for old, new in ((moment, aside), (square, moment), (aside, square)):
                old.rename(new)

    def run(self, context):
        source = nvme.made(context, self.offload, self.before)
        damaged, donor, target = (context.target(f"{self.name}{part}") for part in (" damaged", " donor", ""))
        shutil.copytree(source.folder, damaged)
        self._damage_copy(source, damaged)
        code = self.CODES[self.damage]
        find(context, damaged, code, note=self.damage == "none")
        context.tool.reshard(source.folder, donor, self.before + 1)
        options = () if self.damage == "none" else ("--from", donor, "--masters", "donor", "--moments", "donor")
        marks = repair(context, damaged, code, target, *options)
        if bool(marks) != (self.damage != "none"):
            raise checks.Failure(f"{len(marks)} changes are marked")
        _no_swap_files(target)
        return f"found, {_resume(context, source, target, self.before, nvme.SETUP, self.before)}"


@dataclass(frozen=True)
class Salvage:
    """The run continued after its save and ended: swapped states are only in the swap folder, everything else is in the
    earlier checkpoint, which records what the files are. `ordinary`: that one as ordinary shards, without such a
    record."""
    offload: Offload
    before: int
    after: int
    ordinary: bool = False

    @property
    def name(self):
        donor = " ordinary donor" if self.ordinary else ""
        return f"nvme swap folder alone {self.offload.name}{donor} {self.before}->{self.after}"

    def run(self, context):
        source = nvme.made(context, self.offload, self.before)
        donor = source.folder
        if self.ordinary:
            donor = context.target(f"{self.name} donor")
            context.tool.reshard(source.folder, donor, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.swap_folder, target, self.after, "--donor", donor)
        if "marked" not in _codes(_inspect(context, target)):
            raise checks.Failure("the result is not marked")
        state, *_ = context.sources.resume(nvme.SETUP, self.after, target)
        later = {}
        for name in source.swapped_names:
            for label in (f"{name}#fp32", f"{name}#exp_avg", f"{name}#exp_avg_sq", f"weight {name}"):
                later[label] = source.ended[label]
        tensors = checks.same_state_but(source.state, state, later)
        return f"{tensors} tensors bit-equal, {len(later)} of them from the swap folder alone"


@dataclass(frozen=True)
class LiveWeights:
    """Masters and swapped weights of a live folder are of one step; a changed one is found."""
    before: int

    @property
    def name(self):
        return f"nvme live swap folder with weights {self.before}"

    def run(self, context):
        source = nvme.made(context, Offload("nvme", "nvme"), self.before, nvme.LARGE_SETUP, trains_on=False)
        weights = sorted(source.swap_folder.glob("zero_stage_3/bfloat16params/rank*/*_param.tensor.swp"))
        if not weights:
            raise checks.Failure("the run swapped no weights")
        alone = context.target(self.name)
        shutil.copytree(source.folder, alone, ignore=shutil.ignore_patterns("offloaded_tensors"))
        inspected = _inspect(context, alone, "--root", source.swap_folder)
        if inspected["findings"]:
            raise checks.Failure(f"inspect finds {inspected['findings']}")
        checked = 0
        for path in weights:
            whole = path.read_bytes()
            path.write_bytes(bytes(512) + whole[512:])
            checked += "swap-mismatch" in _codes(context.tool.call("inspect", alone, "--root", source.swap_folder))
            path.write_bytes(whole)
        if not checked:
            raise checks.Failure("weights of another step are not seen")
        return f"{checked} of {len(weights)} files of weights are compared with masters"


@dataclass(frozen=True)
class StockLosesMoments:
    """The reason for these cases: stock DeepSpeed resumes its own NVMe checkpoint silently and without moments."""
    offload: Offload
    world: int

    loads_source = False  # stock itself is tried

    @property
    def name(self):
        return f"nvme next to stock {self.offload.name} {self.world}"

    def run(self, context):
        from compare import live_state
        source = nvme.made(context, self.offload, self.world)
        swap_folder = context.target(f"{self.name} swap")
        swap_folder.mkdir(parents=True)
        parts = ranks.run_ranks(self.world, nvme.load, self.offload, str(source.folder), str(swap_folder),
                                log_path=context.sources.log)
        found = live_state.differences(source.state, live_state.merge(parts))
        lost = [text for text in found if "#exp_avg" in text]
        if not lost:
            raise checks.Failure("stock DeepSpeed restores the moments of NVMe offload now")
        # With offload to NVMe it does not read an ordinary checkpoint either; reshard warns about that.
        target = context.target(f"{self.name} completed")
        plan = context.tool.reshard(source.folder, target, self.world)["plan"]
        warnings = [finding["message"] for finding in plan["warnings"]]
        if not any("must not offload its optimizer to NVMe" in message for message in warnings):
            raise checks.Failure(f"reshard warns of {warnings}")
        must_fail("offloaded_tensors", ranks.run_ranks, self.world, nvme.load, self.offload, str(target),
                  str(swap_folder))
        return f"stock loses {len(lost)} moments and {len(found) - len(lost)} more values, and fails on ordinary shards"


def full_run():
    cases = []
    for offload in (Offload("cpu", "cpu"), Offload("cpu", "nvme"), Offload("nvme", "nvme"),
                    Offload("cpu", "nvme", True), Offload("nvme", "nvme", True)):
        cases += [Complete(offload, before, after) for before in (1, 2) for after in (1, 2, 3)]
    for offload in (Offload("cpu", "nvme"), Offload("nvme", "nvme", True)):
        cases += [Complete(offload, before, after, nvme.FP32_SETUP) for before, after in ((1, 2), (2, 1), (2, 3))]
    cases += [Convert(Offload("cpu", "nvme"), 2, 3), Convert(Offload("nvme", "nvme", True), 1, 2)]
    cases += [StaleTensors(1), StaleTensors(2)]
    cases += [LiveFolder(Offload("cpu", "nvme"), 2, 2), LiveFolder(Offload("nvme", "nvme", True), 1, 2)]
    cases += [Salvage(Offload("cpu", "nvme"), 2, 3), Salvage(Offload("cpu", "nvme"), 2, 1, ordinary=True),
              Salvage(Offload("nvme", "nvme", True), 1, 2)]
    cases += [Repaired(Offload("cpu", "nvme"), 2, damage) for damage in ("lost", "mixed")]
    cases += [Repaired(Offload("nvme", "nvme", True), 2, damage) for damage in ("none", "lost")]
    cases.append(LiveWeights(2))
    return cases + [StockLosesMoments(Offload("cpu", "nvme"), 2)]
