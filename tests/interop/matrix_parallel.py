# SPDX-License-Identifier: Apache-2.0
"""Cases of models whose ranks do not all hold the same parameters."""

from dataclasses import replace

from cases_cut import CutLikeUniversal, CutSlices
from cases_megatron import AskedByName, JoinByPatterns, JoinLikeConverter
from cases_parallel import (DealExperts, DealStages, JoinSlices, JoinStages, ParallelReshard, ParallelRoundTrip,
                            ShardsWithoutZero, SlicesToStage, UnpartitionedSlices)
from parallel_setups import ParallelSetup

EXPERTS = ParallelSetup("experts", 2, "bf16")
AUTOEP = ParallelSetup("autoep", 2, "bf16", experts=(4, 4))
PIPELINE = ParallelSetup("pipeline", 1, "bf16")
SLICES = ParallelSetup("slices", 1, "bf16")
MEGATRON = ParallelSetup("megatron", 1, "fp32")


def short_run():
    return [
        ParallelReshard(EXPERTS, 4, 2),
        DealExperts(EXPERTS, 4, 4, 1),
        ParallelReshard(AUTOEP, 4, 2),
        ParallelReshard(replace(AUTOEP, stage=3), 4, 2),
        ParallelReshard(replace(AUTOEP, slices=2), 4, 2),
        DealExperts(AUTOEP, 4, 4, 4),
        ParallelReshard(PIPELINE, 4, 2),
        ParallelReshard(SLICES, 4, 2),
        UnpartitionedSlices(replace(MEGATRON, stage=0), 4, 2),
        JoinSlices(SLICES, 4, 3, 2),
        JoinStages(PIPELINE, 4, 1),
        DealStages(PIPELINE, 4, 3, 3),
        JoinByPatterns(MEGATRON, 4, 3, 2),
        CutSlices(MEGATRON, 2, 4, 4, 1),
        CutSlices(SLICES, 4, 4, 4, 1, like_stock=True),
    ]


def autoep_run():
    cases = [ParallelReshard(setup, before, after)
              for setup in (AUTOEP, replace(AUTOEP, stage=1, precision="fp32"), replace(AUTOEP, stage=1),
                            replace(AUTOEP, precision="fp32"), replace(AUTOEP, precision="fp16"),
                            replace(AUTOEP, stage=1, bf16_optimizer=True))
              for before, after in ((4, 2), (2, 4))]
    return cases + [
        ParallelReshard(replace(AUTOEP, experts=(4, 8)), 4, 6),
        ParallelReshard(replace(AUTOEP, degree=4), 4, 8),
        ParallelReshard(replace(AUTOEP, degree=1), 2, 3),
        ParallelReshard(replace(AUTOEP, data_first=True), 4, 6),
        ParallelReshard(replace(AUTOEP, data_first=True, stage=1), 4, 2),
        *(DealExperts(AUTOEP, 4, after, degree) for after, degree in ((4, 4), (4, 1), (8, 4), (3, 1))),
        DealExperts(replace(AUTOEP, stage=1, precision="fp32"), 4, 4, 4),
        DealExperts(replace(AUTOEP, precision="fp16"), 4, 2, 1),
        DealExperts(replace(AUTOEP, stage=1, bf16_optimizer=True), 4, 4, 4),
        DealExperts(replace(AUTOEP, experts=(4, 8)), 4, 4, 4),
        DealExperts(replace(AUTOEP, degree=1), 2, 4, 2),
        DealExperts(replace(AUTOEP, degree=4), 4, 6, 2),
        DealExperts(replace(AUTOEP, data_first=True), 4, 8, 4),
        DealExperts(replace(AUTOEP, data_first=True), 4, 4, 1),
    ]


def autoep_zero3_run():
    """Since 0.19.3; stock loads it with the placement it was saved with alone."""
    three = replace(AUTOEP, stage=3)
    cases = [ParallelReshard(setup, before, after)
             for setup in (three, replace(three, precision="fp32")) for before, after in ((4, 2), (2, 4), (4, 6))]
    return cases + [
        ParallelReshard(replace(three, experts=(4, 8)), 4, 6),
        ParallelReshard(replace(three, degree=4), 4, 8),
        ParallelReshard(replace(three, degree=1), 2, 3),
        ParallelReshard(replace(three, data_first=True), 4, 6),
        ParallelReshard(replace(three, data_first=True, precision="fp32"), 4, 2),
        ParallelRoundTrip(three, 4, 2),
    ]


def folded_run():
    """AutoEP's expert-parallel ranks over tensor slices and data-parallel ranks."""
    folded = replace(AUTOEP, slices=2)
    three = replace(folded, stage=3)
    cases = [ParallelReshard(setup, before, after)
             for setup in (folded, replace(folded, precision="fp32"), three, replace(three, precision="fp32"))
             for before, after in ((4, 2), (2, 4))]
    return cases + [
        ParallelReshard(replace(folded, stage=1), 4, 6),
        ParallelReshard(replace(folded, stage=1, bf16_optimizer=True), 4, 2),
        ParallelReshard(replace(folded, degree=4), 4, 8),
        ParallelReshard(replace(three, degree=4), 4, 8),
        ParallelReshard(replace(folded, experts=(4, 8)), 4, 6),
        ParallelRoundTrip(folded, 4, 2),
        ParallelRoundTrip(three, 4, 2),
    ]


def stages_without_zero():
    fp32, fp16, bf16 = (ParallelSetup("pipeline", 0, precision) for precision in ("fp32", "fp16", "bf16"))
    untied = replace(fp32, tied=False)
    return [
        UnpartitionedSlices(fp32, 4, 2),
        UnpartitionedSlices(fp16, 4, 2),
        UnpartitionedSlices(untied, 2, 4),
        UnpartitionedSlices(replace(fp16, tied=False), 4, 2),
        SlicesToStage(untied, 2, 4, 1),
        ShardsWithoutZero(bf16, 4, 2),
        ShardsWithoutZero(replace(bf16, tied=False), 4, 2),
    ]


def full_run():
    cases = [ParallelReshard(setup, before, after)
             for setup in (EXPERTS, ParallelSetup("experts", 1, "fp32"), ParallelSetup("experts", 2, "fp16"))
             for before, after in ((4, 2), (2, 4), (4, 6))]
    cases += [
        ParallelReshard(ParallelSetup("experts", 2, "bf16", degree=1), 2, 3),
        ParallelReshard(ParallelSetup("experts", 2, "bf16", round_robin=True), 6, 4),
        ParallelReshard(ParallelSetup("experts", 1, "bf16", data_first=True), 4, 2),
        ParallelReshard(ParallelSetup("experts", 2, "bf16", data_first=True), 4, 6),
    ]
    cases += [*autoep_run(), ParallelRoundTrip(AUTOEP, 4, 2), *autoep_zero3_run(),
              *folded_run()]
    wide = ParallelSetup("experts", 2, "bf16", experts=(4, 8))
    cases += [
        DealExperts(EXPERTS, 4, 4, 1),
        DealExperts(EXPERTS, 4, 3, 1),
        DealExperts(wide, 4, 4, 4),
        DealExperts(wide, 2, 8, 4),
        DealExperts(ParallelSetup("experts", 2, "bf16", degree=1), 2, 4, 2),
        DealExperts(ParallelSetup("experts", 1, "fp32", degree=4, experts=(4, 4)), 4, 4, 2),
        DealExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), round_robin=True), 6, 4, 4),
        DealExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), data_first=True), 4, 8, 4),
        DealExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), data_first=True), 4, 4, 1),
    ]
    cases += [ParallelReshard(setup, before, after)
              for setup in (PIPELINE, ParallelSetup("pipeline", 1, "fp32"), ParallelSetup("pipeline", 1, "fp16"))
              for before, after in ((4, 2), (2, 4))]
    cases += [ParallelReshard(setup, before, after)
              for setup in (SLICES, ParallelSetup("slices", 2, "fp32"), ParallelSetup("slices", 3, "bf16"))
              for before, after in ((4, 2), (2, 4), (4, 6))]
    cases += [ParallelRoundTrip(EXPERTS, 4, 2), ParallelRoundTrip(PIPELINE, 4, 2), ParallelRoundTrip(SLICES, 4, 6),
              ParallelRoundTrip(ParallelSetup("slices", 3, "bf16"), 4, 2)]
    cases += [JoinSlices(setup, 4, after, stage) for setup in (SLICES, ParallelSetup("slices", 2, "fp32"))
              for after, stage in ((1, 1), (3, 2), (2, 3))]
    cases += [JoinSlices(ParallelSetup("slices", 3, "fp32"), 4, 2, 3)]
    full = ParallelSetup("megatron", 1, "fp32")
    padded, unrecorded = replace(full, padding=2), replace(full, stage=2, recorded=False)
    cases += [JoinByPatterns(full, 4, 3, 2), JoinByPatterns(full, 2, 2, 1), JoinByPatterns(unrecorded, 4, 2, 3),
              JoinByPatterns(full, 4, 2, 1, universal=True), JoinByPatterns(padded, 4, 2, 2, universal=True),
              JoinByPatterns(replace(padded, recorded=False), 4, 2, 1, universal=True),
              JoinLikeConverter(full, 4), JoinLikeConverter(padded, 4), JoinLikeConverter(replace(full, stage=2), 2),
              AskedByName(unrecorded, 4), ParallelReshard(full, 4, 2)]
    unpartitioned = [replace(full, stage=0, precision=precision) for precision in ("fp32", "bf16", "fp16")]
    cases += [UnpartitionedSlices(setup, 4, 2) for setup in unpartitioned]
    cases += [UnpartitionedSlices(unpartitioned[0], 2, 4)]
    cases += [SlicesToStage(unpartitioned[0], 4, 2, stage) for stage in (1, 2, 3)]
    cases += [SlicesToStage(replace(full, stage=stage), 4, 2, 0) for stage in (1, 2, 3)]
    cases += [JoinByPatterns(unpartitioned[0], 4, 2, stage) for stage in (0, 1, 2, 3)]
    cases += [JoinByPatterns(unpartitioned[0], 2, 2, 1, universal=True)]
    one = replace(full, degree=1, padding=2, recorded=False)  # in bf16 sums in slices round otherwise
    four = replace(full, degree=4, padding=4)
    cases += [CutSlices(full, 2, 4, 4, 1), CutSlices(one, 2, 4, 2, 2, padding=4),
              CutSlices(padded, 4, 4, 4, 1, padding=4, like_stock=True),
              CutSlices(four, 4, 4, 2, 1, padding=2), CutSlices(four, 4, 4, 2, 3, padding=6),
              CutSlices(replace(full, stage=3), 4, 4, 4, 3), CutSlices(four, 4, 2, 1, 2, padding=3),
              CutLikeUniversal(padded, 4, 4, 4, 8), CutLikeUniversal(four, 4, 2, 2)]
    cases += [CutSlices(SLICES, 4, 4, 4, 1, like_stock=True), CutSlices(replace(SLICES, degree=4), 4, 6, 2, 2),
              CutSlices(ParallelSetup("slices", 3, "fp32"), 4, 4, 4, 3),
              CutSlices(replace(SLICES, degree=1), 2, 4, 2, 1),
              CutLikeUniversal(ParallelSetup("slices", 1, "fp32"), 4, 4, 4)]
    cases += stages_without_zero()
    staged = replace(full, stages=2)
    cases += [JoinLikeConverter(staged, 4), JoinByPatterns(staged, 4, 2, 1, universal=True),
              JoinByPatterns(replace(staged, padding=2, recorded=False), 4, 1, 1, universal=True)]
    cases += [JoinSlices(ParallelSetup("slices", 1, "fp32"), 4, 2, stage, universal=True) for stage in (1, 2, 3)]
    pipelines = (PIPELINE, ParallelSetup("pipeline", 1, "fp32"), ParallelSetup("pipeline", 1, "fp16"))
    cases += [JoinStages(setup, 4, after) for setup in pipelines for after in (2, 3)]
    cases += [JoinStages(setup, 2, 1) for setup in pipelines]
    cases += [JoinStages(ParallelSetup("pipeline", 1, precision), 4, after, stages, universal=True)
              for precision in ("fp32", "bf16") for after, stages in ((1, 1), (2, 1), (2, 2), (3, 3))]
    for precision in ("fp32", "bf16"):
        one, two, three = (ParallelSetup("pipeline", 1, precision, degree=stages) for stages in (1, 2, 3))
        deep = ParallelSetup("pipeline", 1, precision, degree=4, blocks=6)
        cases += [DealStages(one, 2, 4, 2), DealStages(two, 4, 3, 3), DealStages(two, 2, 6, 3), DealStages(three, 3, 2, 2),
                  DealStages(deep, 4, 4, 2), DealStages(replace(deep, degree=2), 4, 4, 4),
                  DealStages(three, 3, 3, 3, "parameters"), DealStages(two, 4, 6, 3, "type:block"), JoinStages(deep, 4, 2)]
    cases += [DealStages(ParallelSetup("pipeline", 1, "bf16", bf16_optimizer=True), 4, 3, 3),
              DealStages(ParallelSetup("pipeline", 1, "fp16"), 4, 3, 3)]
    return cases
