# SPDX-License-Identifier: Apache-2.0
"""The doctor on runs whose ranks hold different parameters: a damage in the last tensor slice, pipeline stage or
expert-parallel rank is found and repaired, the others keep every bit, and stock DeepSpeed continues with all of
them."""

from dataclasses import dataclass

from cases import parallel
from compare import checks, live_state
from diagnosis.doctor import as_set, damaged_copy, damages, find, repair, troubles
from runs import ranks
from runs.parallel_setups import ParallelSetup

WORLD = 4  # two data-parallel ranks of two parts each


@dataclass(frozen=True)
class HealthyParts:
    """No false alarm, at any depth."""
    frameworks = True  # AutoTP imports transformers
    setup: ParallelSetup

    @property
    def name(self):
        return f"doctor healthy {self.setup.name} {WORLD}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, WORLD)
        for depth in ("names", "headers", "metadata", "bytes"):
            answer = context.tool.call("check", source.folder, "--depth", depth, "--fail-on", "never")
            if troubles(answer):
                raise checks.Failure(f"at depth {depth}: {sorted(troubles(answer))}")
        return "nothing above a note at four depths"


@dataclass(frozen=True)
class PartRepaired:
    """Nothing is lost, or a copy of the same step with another number of ranks has it: nothing may differ."""
    frameworks = True  # AutoTP imports transformers
    setup: ParallelSetup
    damage: str
    code: str
    lost: bool = True

    @property
    def name(self):
        return f"doctor {'refilled' if self.lost else 'whole'} {self.damage} {self.setup.name} {WORLD}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, WORLD)
        folder = damaged_copy(context, source, self.name, getattr(damages, self.damage))
        find(context, folder, self.code)
        target = context.target(self.name)
        options = ()
        if self.lost:
            donor = context.target(f"{self.name} donor")
            context.tool.reshard(source.folder, donor, 2 * WORLD)
            options = ("--from", donor, "--masters", "donor", "--moments", "donor")
        marks = repair(context, folder, self.code, target, *options)
        if self.lost != bool(marks):
            raise checks.Failure(f"{len(marks)} changes are marked")
        if not self.lost:
            parallel.same_values(context, target, source)
        continued = parallel.continues_as(context, self.setup, WORLD, target, source, source.state)
        return f"found, repaired, {continued}"


@dataclass(frozen=True)
class PartsSet:
    """Reviewed values reach the files of every part."""
    frameworks = True  # AutoTP imports transformers
    setup: ParallelSetup

    @property
    def name(self):
        return f"doctor set {self.setup.name} {WORLD}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, WORLD)
        target = context.target(self.name)
        context.tool.call("repair", source.folder, target, "--set", "step=23", "--set", "lr=0.0625")
        parts = ranks.run_ranks(WORLD, parallel.load_and_train, self.setup, str(target),
                                log_path=context.sources.log)
        expected = as_set(source.state, 23, lambda label: 0.0625)
        if not expected:
            raise checks.Failure("no step and no rate was found in the engine")
        tensors = checks.same_state_but(source.state, live_state.merge([state for state, _ in parts]), expected)
        return f"{len(expected)} values are those that were set, {tensors} tensors bit-equal"


SLICES, STAGES = ParallelSetup("slices", 1, "bf16"), ParallelSetup("pipeline", 1, "bf16")
SETUPS = [SLICES, ParallelSetup("slices", 3, "bf16"), ParallelSetup("slices", 2, "fp32"), STAGES,
          ParallelSetup("pipeline", 1, "fp16"), ParallelSetup("pipeline", 1, "bf16", bf16_optimizer=True),
          ParallelSetup("experts", 2, "bf16"), ParallelSetup("autoep", 2, "bf16", experts=(4, 4))]
WITHOUT_LOSS = [("larger_save_left", "stale-file"), ("directory_lost", "file-torn"),
                ("option_changed", "option-mismatch"), ("bytes_behind_the_end", "trailing-data"),
                ("saved_by_nodes", "split-shards")]
WITH_LOSS = [("rank_missing", "rank-missing"), ("first_rank_missing", "rank-missing"), ("rank_twice", "rank-foreign"),
             ("cut_short", "file-torn"), ("masters_cut", "state-length"), ("bit_flipped", "record-corrupt"),
             ("moments_spoiled", "non-finite"), ("moment_missing", "state-missing")]


def short_run():
    return [PartRepaired(SLICES, "rank_missing", "rank-missing"), PartRepaired(STAGES, "moments_spoiled", "non-finite")]


def full_run():
    cases = []
    for setup in SETUPS:
        cases.append(HealthyParts(setup))
        cases += [PartRepaired(setup, damage, code, lost=False) for damage, code in WITHOUT_LOSS]
        cases += [PartRepaired(setup, damage, code) for damage, code in WITH_LOSS]
        cases.append(PartsSet(setup))
    return cases
