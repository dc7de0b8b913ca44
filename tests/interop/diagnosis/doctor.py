# SPDX-License-Identifier: Apache-2.0
"""The doctor on live runs: stock DeepSpeed's checkpoints have no findings; each damage is found and repaired on a copy,
and the copy loads in unmodified DeepSpeed with everything that was not lost, bit for bit."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from compare import checks, live_state
from runs import ranks, sources
from runs.setups import Setup

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data"))
import damages  # noqa: E402  (next to the sample checkpoints)


def troubles(answer):
    """Codes of findings above info."""
    return {finding["code"] for result in answer["results"] for finding in result["findings"]
            if finding["severity"] != "info"}


def damaged_copy(context, source, name, damage):
    folder = context.target(f"{name} damaged")
    shutil.copytree(source.folder, folder)
    damage(folder / (folder / "latest").read_text(encoding="utf-8"))
    return folder


def _codes(answer):
    return {finding["code"] for result in answer["results"] for finding in result["findings"]}


def find(context, folder, code, note=False):
    """Finds `code` above info, or with `note` as an info."""
    answer = context.tool.call("check", folder, "--depth", "bytes", "--fail-on", "never")
    found = _codes(answer) - troubles(answer) if note else troubles(answer)
    if code not in found:
        raise checks.Failure(f"`{code}` was not found, but {sorted(_codes(answer))}")


def repair(context, folder, code, target, *options):
    answer = context.tool.call("repair", folder, target, "--fix", code, *options)
    if not answer["check"]["ok"] or not answer["result"]["verified"]:
        raise checks.Failure(f"the repaired copy is not healthy: {answer['check']}")
    after = context.tool.call("check", target, "--depth", "bytes", "--fail-on", "never")
    left = troubles(after) - {"marked"} | _codes(after) & {code}
    if left:
        raise checks.Failure(f"a check of every byte finds {sorted(left)} in the repaired copy")
    return [change for change in answer["changes"] if change["marked"]]


def resumes_as(context, setup, world, target, source):
    """Stock loads TARGET, and has the source's state and its losses to the last digit."""
    state, losses, _ = context.sources.resume(setup, world, target)
    tensors = checks.same_state(source.state, state)
    deviation = checks.losses_track(source.losses, losses, 0.0)
    return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class Healthy:
    """No false alarm, at any depth."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"doctor healthy {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        found = troubles(context.tool.call("check", source.folder, "--depth", "bytes", "--fail-on", "warning"))
        if found:
            raise checks.Failure(f"false alarms: {sorted(found)}")
        return "nothing above a note"


@dataclass(frozen=True)
class Whole:
    """A damage that loses nothing: the repaired copy equals the undamaged checkpoint."""
    setup: Setup
    before: int
    damage: str
    code: str
    note: bool = False  # the finding is an info

    @property
    def name(self):
        return f"doctor repair {self.damage} {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = damaged_copy(context, source, self.name, getattr(damages, self.damage))
        find(context, folder, self.code, self.note)
        target = context.target(self.name)
        if repair(context, folder, self.code, target):
            raise checks.Failure("something is marked, though nothing was lost")
        return f"found, repaired, {resumes_as(context, self.setup, self.before, target, source)}"


@dataclass(frozen=True)
class FromDonor:
    """A lost shard that another checkpoint of the same step has, with another number of ranks: nothing is lost."""
    setup: Setup
    before: int
    damage: str
    code: str
    universal: bool = False

    @property
    def name(self):
        return f"doctor donor {self.damage} {self.setup.name} {self.before}{' universal' if self.universal else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = damaged_copy(context, source, self.name, getattr(damages, self.damage))
        find(context, folder, self.code)
        donor = context.target(f"{self.name} other")
        if self.universal:
            context.tool.convert(source.folder, donor)
        else:
            context.tool.reshard(source.folder, donor, self.before + 1)
        target = context.target(self.name)
        marks = repair(context, folder, self.code, target, "--from", donor, "--masters", "donor", "--moments", "donor")
        if not marks:
            raise checks.Failure("what came from elsewhere is not marked")
        return f"found, refilled, {resumes_as(context, self.setup, self.before, target, source)}"


@dataclass(frozen=True)
class FromCopies:
    """A lost shard without any other checkpoint: masters from the 16-bit copies, moments zero; everything else is
    unchanged."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"doctor copies rank_missing {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = damaged_copy(context, source, self.name, damages.rank_missing)
        find(context, folder, "rank-missing")
        target = context.target(self.name)
        if not repair(context, folder, "rank-missing", target):
            raise checks.Failure("what was refilled is not marked")
        state, losses, _ = context.sources.resume(self.setup, self.before, target)
        refilled, untouched = self._compare(source.state, state)
        if refilled == 0 or untouched == 0:
            raise checks.Failure(f"{refilled} elements refilled, {untouched} untouched")
        # Zeroed moments change the course of training; the loss is still that of a trained model.
        worst = max(abs(a - b) / abs(a) for a, b in zip(source.losses, losses))
        if worst > 0.25:
            raise checks.Failure(f"losses differ by {worst:.2f}")
        return f"found, {refilled} elements refilled, {untouched} untouched bit for bit, losses within {worst:.1e}"

    @staticmethod
    def _compare(before, after):
        refilled = untouched = 0
        for label, value in before.items():
            name, hash_, kind = label.rpartition("#")
            if not (hash_ and isinstance(value, bytes)) or f"weight {name}" not in before:
                continue
            own, now = (torch.frombuffer(bytearray(x), dtype=torch.int32) for x in (value, after[label]))
            differs = own != now
            if kind == "fp32":
                dtype, _, data = before[f"weight {name}"]
                copy = torch.frombuffer(bytearray(data), dtype=getattr(torch, dtype.removeprefix("torch."))).float()
                wanted = copy.view(torch.int32)
            else:
                wanted = torch.zeros_like(now)
            if not torch.equal(now[differs], wanted[differs]):
                raise checks.Failure(f"{label} holds what is neither its own nor what it is refilled with")
            refilled += int(differs.sum())
            untouched += int((~differs).sum())
        return refilled, untouched


def train_two_tags(rank, world, setup, folder, earlier, before, after):
    """The state at the second save, and the losses of the steps after it."""
    from runs.training import build_engine, train
    engine = build_engine(setup, world)
    poisoned = sources.POISONED if setup.precision == "fp16" else ()
    train(engine, rank, world, 0, earlier, poisoned=poisoned, shape=setup.shape)
    engine.save_checkpoint(folder, client_state=dict(sources.CLIENT_STATE))
    train(engine, rank, world, earlier, before - earlier, poisoned=poisoned, shape=setup.shape)
    engine.save_checkpoint(folder, client_state=dict(sources.CLIENT_STATE))
    state = live_state.local_state(engine, rank)
    return state, train(engine, rank, world, before, after, shape=setup.shape)


@dataclass(frozen=True)
class LostModel:
    """Lost or truncated model files: rebuilt from those of the run's earlier tag. Values that no shard holds are that
    tag's."""
    setup: Setup
    before: int
    damage: str = "model_files_missing"
    code: str = "model-states-missing"
    EARLIER = 2

    @property
    def name(self):
        return f"doctor neighbour {self.damage} {self.setup.name} {self.before}"

    def run(self, context):
        folder = context.target(f"{self.name} damaged")
        parts = ranks.run_ranks(self.before, train_two_tags, self.setup, str(folder), self.EARLIER,
                                sources.STEPS_BEFORE, sources.STEPS_AFTER, log_path=context.sources.log)
        states, losses = zip(*parts)
        state, losses = live_state.merge(states), sources.mean_losses(losses)
        getattr(damages, self.damage)(folder / (folder / "latest").read_text(encoding="utf-8"))
        find(context, folder, self.code)
        target = context.target(self.name)
        if not repair(context, folder, self.code, target):
            raise checks.Failure("what came from elsewhere is not marked")
        resumed, after, _ = context.sources.resume(self.setup, self.before, target)
        # The one buffer counts batches, and only a model file records their number.
        counted = {label: checks.ANY for label in state if label == f"weight {COUNTED}"}
        tensors = checks.same_state_but(state, resumed, counted)
        deviation = checks.losses_track(losses, after, 0.0)
        return f"found, rebuilt, {tensors} tensors bit-equal, loss deviation {deviation:.1e}"


def as_set(state, step, rate_of):
    """The state of an engine after steps and learning rates were set."""
    expected = {}
    for label, value in state.items():
        if label.startswith("scalar group ") and label.endswith(" lr"):
            expected[label] = live_state.plain(rate_of(label))
        elif label.endswith(" step") and not label.startswith("scalar group "):  # FusedAdam's groups' stays 0
            kept = step if value[0] == "int" else torch.tensor(float(step), dtype=getattr(torch, value[1][6:]))
            expected[label] = live_state.plain(kept)
    return expected


@dataclass(frozen=True)
class SetValues:
    """Reviewed values replace saved ones: stock loads them, and everything else unchanged."""
    setup: Setup
    before: int

    @property
    def name(self):
        return f"doctor set {self.setup.name} {self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        answer = context.tool.call("repair", source.folder, target, "--set", "step=23", "--set", "lr=0.0625",
                                   "--set", "1:lr=0.125", "--set", "global_samples=77")
        if any(change["marked"] for change in answer["changes"]):
            raise checks.Failure("a reviewed value is marked as one that no run saved")
        state, _, _ = context.sources.resume(self.setup, self.before, target)
        expected = {"scalar global_samples": live_state.plain(77),
                    **as_set(source.state, 23, lambda label: 0.125 if label == "scalar group 1 lr" else 0.0625)}
        tensors = checks.same_state_but(source.state, state, expected)
        return f"{len(expected)} values are those that were set, {tensors} tensors bit-equal"


COUNTED = "batches_seen"  # a buffer of the model that every step changes
TWO = Setup(2, "bf16")
SETUPS = [Setup(1, "bf16"), TWO, Setup(1, "fp32"), Setup(3, "bf16", sub_group_size=200), Setup(3, "fp32"),
          Setup(1, "bf16", bf16_optimizer=True), Setup(2, "bf16", round_robin=True)]
MUON = [Setup(1, "bf16", "muon"), Setup(2, "bf16", "muon"), Setup(2, "fp32", "muon"),
        Setup(2, "bf16", "muon", round_robin=True)]
WITHOUT_LOSS = [("pointer_missing", "latest-missing"), ("pointer_dangling", "latest-dangling"),
                ("larger_save_left", "stale-file"), ("directory_lost", "file-torn"),
                ("option_changed", "option-mismatch"), ("bytes_behind_the_end", "trailing-data"),
                ("world_size_zero", "bad-world-size-field"), ("saved_by_nodes", "split-shards"),
                ("names_exchanged", "rank-foreign")]
PACKED = [("packed_by_others", "unaligned-payload"), ("record_added", "record-unused"),
          ("sums_left_out", "record-unchecked")]
VALUES_CHANGED = [("steps_behind", "step-off-counters"), ("rates_changed", "schedule-discontinuity")]
WEIGHTS_LOST = [("weight_bit_flipped", "record-corrupt"), ("weights_spoiled", "non-finite")]
WITH_LOSS = [("rank_missing", "rank-missing"), ("first_rank_missing", "rank-missing"), ("rank_twice", "rank-foreign"),
             ("cut_short", "file-torn"), ("masters_cut", "state-length"), ("record_header_lost", "record-corrupt"),
             ("bit_flipped", "record-corrupt"), ("moments_spoiled", "non-finite"), ("moment_missing", "state-missing"),
             ("record_missing", "record-missing")]


# Optimizer files of ZeRO-1/2 list a padding per parameter, and readers may leave long lists out.
MANY = (("scales", 300),)


@dataclass(frozen=True)
class ManyParameters:
    """A lost first rank of a model with many parameters, and the repaired copy with another number of ranks: stock
    loads both."""
    setup: Setup

    @property
    def name(self):
        return f"doctor many parameters {self.setup.name} 2"

    def run(self, context):
        source = context.sources.get(self.setup, 2)
        other = context.target(f"{self.name} other")
        context.tool.reshard(source.folder, other, 3)
        state, losses, _ = context.sources.resume(self.setup, 3, other)
        tensors = checks.same_state(source.state, state)
        checks.losses_track(source.losses, losses, checks.TOLERANCE[self.setup.precision])
        if self.setup.stage == 0:
            return f"resharded, {tensors} tensors bit-equal"
        folder = damaged_copy(context, source, self.name, damages.first_rank_missing)
        find(context, folder, "rank-missing")
        target = context.target(self.name)
        repair(context, folder, "rank-missing", target, "--from", other, "--masters", "donor", "--moments", "donor")
        repaired = resumes_as(context, self.setup, 2, target, source)
        again = context.target(f"{self.name} again")
        context.tool.reshard(target, again, 3)
        state, _, _ = context.sources.resume(self.setup, 3, again)
        checks.same_state(source.state, state)
        if self.setup.stage == 3:  # no 16-bit copies of its masters
            return f"repaired from a donor, resharded: {repaired}"
        alone = context.target(f"{self.name} alone")
        repair(context, folder, "rank-missing", alone)
        context.sources.resume(self.setup, 2, alone)
        return f"repaired with a donor and without, resharded: {repaired}"


def many_parameters():
    return [ManyParameters(Setup(stage, "bf16", shape=MANY, groups=1)) for stage in (1, 2)] + [
        ManyParameters(Setup(2, "bf16", shape=MANY, aligned=True)), ManyParameters(Setup(0, "fp32", shape=MANY)),
        ManyParameters(Setup(3, "bf16", shape=MANY, sub_group_size=2000))]


def short_run():
    return many_parameters()[1:2] + [Healthy(TWO, 2), Whole(TWO, 2, "directory_lost", "file-torn"), Whole(TWO, 2, "step_changed", "step-mismatch"),
            FromDonor(Setup(3, "bf16", sub_group_size=200), 2, "first_rank_missing", "rank-missing"),
            FromDonor(TWO, 2, "moments_spoiled", "non-finite"),
            FromDonor(Setup(2, "bf16", "muon"), 2, "rank_missing", "rank-missing"),
            SetValues(Setup(3, "bf16", sub_group_size=200), 2), FromCopies(TWO, 2), LostModel(TWO, 2),
            LostModel(TWO, 2, "model_files_cut", "file-torn")]


def full_run():
    cases = many_parameters()
    for setup in SETUPS:
        cases.append(Healthy(setup, 3))
        cases += [Whole(setup, 3, damage, code) for damage, code in WITHOUT_LOSS]
        cases += [FromDonor(setup, 3, damage, code) for damage, code in WITH_LOSS]
        cases.append(FromDonor(setup, 3, "rank_missing", "rank-missing", universal=True))
        if setup.stage < 3 and setup.precision != "fp32":  # there are copies that masters can be compared with
            cases.append(FromDonor(setup, 3, "masters_fresh", "masters-not-copies"))
            cases += [Whole(setup, 3, damage, code) for damage, code in WEIGHTS_LOST]
    cases += [Whole(setup, 3, damage, code) for setup in SETUPS for damage, code in VALUES_CHANGED]
    cases += [Whole(setup, 3, "weights_dragging", "storage-bloat", note=True)
              for setup in SETUPS if setup.stage < 3]
    cases += [Whole(setup, 3, damage, code, note=code == "record-unchecked") for setup in (TWO, SETUPS[3])
              for damage, code in PACKED]
    cases += [Whole(setup, 3, "tie_diverged", "tied-diverged") for setup in (Setup(1, "bf16"), TWO, Setup(2, "fp16"))]
    cases += [Whole(setup, world, "order_without_round_robin", "param-order")
              for setup in (Setup(2, "bf16", round_robin=True), Setup(1, "fp32", round_robin=True)) for world in (2, 3)]
    cases += [Whole(TWO, 3, "step_changed", "step-mismatch"), Whole(TWO, 2, "other_precision_left", "precision-prefix")]
    cases += [SetValues(setup, 3) for setup in [*SETUPS, Setup(2, "bf16", "fusedadam"),
                                                Setup(2, "bf16", "cpuadam", offload=True)]]
    cases += [FromCopies(setup, 3) for setup in (Setup(1, "bf16"), TWO, Setup(2, "fp16"))]
    cases += [LostModel(setup, 3) for setup in [*SETUPS, Setup(2, "fp16")]]
    cases += [LostModel(setup, 3, "model_files_cut", "file-torn") for setup in SETUPS]
    cases += [FromDonor(setup, 3, damage, code) for setup in MUON for damage, code in WITH_LOSS[:4]]
    return cases
