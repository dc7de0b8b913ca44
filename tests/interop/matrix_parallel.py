# SPDX-License-Identifier: Apache-2.0
"""Cases of models whose ranks hold different parameters."""

from dataclasses import replace

from cases.cut import SplitLikeUniversal, SplitSlices
from cases.megatron import AskedByName, MergeByPatterns, MergeLikeConverter
from cases.parallel import (MergeSlices, MergeStages, ParallelReshard, ParallelRoundTrip, RepartitionExperts,
                            RepartitionStages, ShardsWithoutZero, SlicesToStage, UnpartitionedSlices)
from runs.parallel_setups import ParallelSetup

EXPERTS = ParallelSetup("experts", 2, "bf16")
AUTOEP = ParallelSetup("autoep", 2, "bf16", experts=(4, 4))
PIPELINE = ParallelSetup("pipeline", 1, "bf16")
SLICES = ParallelSetup("slices", 1, "bf16")
MEGATRON = ParallelSetup("megatron", 1, "fp32")


def short_run():
    return [
        ParallelReshard(EXPERTS, 4, 2),
        RepartitionExperts(EXPERTS, 4, 4, 1),
        ParallelReshard(AUTOEP, 4, 2),
        ParallelReshard(replace(AUTOEP, stage=3), 4, 2),
        ParallelReshard(replace(AUTOEP, slices=2), 4, 2),
        RepartitionExperts(AUTOEP, 4, 4, 4),
        ParallelReshard(PIPELINE, 4, 2),
        ParallelReshard(SLICES, 4, 2),
        UnpartitionedSlices(replace(MEGATRON, stage=0), 4, 2),
        MergeSlices(SLICES, 4, 3, 2),
        MergeStages(PIPELINE, 4, 1),
        RepartitionStages(PIPELINE, 4, 3, 3),
        MergeByPatterns(MEGATRON, 4, 3, 2),
        SplitSlices(MEGATRON, 2, 4, 4, 1),
        SplitSlices(SLICES, 4, 4, 4, 1, like_stock=True),
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
        *(RepartitionExperts(AUTOEP, 4, after, degree) for after, degree in ((4, 4), (4, 1), (8, 4), (3, 1))),
        RepartitionExperts(replace(AUTOEP, stage=1, precision="fp32"), 4, 4, 4),
        RepartitionExperts(replace(AUTOEP, precision="fp16"), 4, 2, 1),
        RepartitionExperts(replace(AUTOEP, stage=1, bf16_optimizer=True), 4, 4, 4),
        RepartitionExperts(replace(AUTOEP, experts=(4, 8)), 4, 4, 4),
        RepartitionExperts(replace(AUTOEP, degree=1), 2, 4, 2),
        RepartitionExperts(replace(AUTOEP, degree=4), 4, 6, 2),
        RepartitionExperts(replace(AUTOEP, data_first=True), 4, 8, 4),
        RepartitionExperts(replace(AUTOEP, data_first=True), 4, 4, 1),
    ]


def autoep_zero3_run():
    """Since 0.19.3; stock loads it only with the placement it was saved with."""
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
        RepartitionExperts(EXPERTS, 4, 4, 1),
        RepartitionExperts(EXPERTS, 4, 3, 1),
        RepartitionExperts(wide, 4, 4, 4),
        RepartitionExperts(wide, 2, 8, 4),
        RepartitionExperts(ParallelSetup("experts", 2, "bf16", degree=1), 2, 4, 2),
        RepartitionExperts(ParallelSetup("experts", 1, "fp32", degree=4, experts=(4, 4)), 4, 4, 2),
        RepartitionExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), round_robin=True), 6, 4, 4),
        RepartitionExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), data_first=True), 4, 8, 4),
        RepartitionExperts(ParallelSetup("experts", 2, "bf16", experts=(4, 4), data_first=True), 4, 4, 1),
    ]
    cases += [ParallelReshard(setup, before, after)
              for setup in (PIPELINE, ParallelSetup("pipeline", 1, "fp32"), ParallelSetup("pipeline", 1, "fp16"))
              for before, after in ((4, 2), (2, 4))]
    cases += [ParallelReshard(setup, before, after)
              for setup in (SLICES, ParallelSetup("slices", 2, "fp32"), ParallelSetup("slices", 3, "bf16"))
              for before, after in ((4, 2), (2, 4), (4, 6))]
    cases += [ParallelRoundTrip(EXPERTS, 4, 2), ParallelRoundTrip(PIPELINE, 4, 2), ParallelRoundTrip(SLICES, 4, 6),
              ParallelRoundTrip(ParallelSetup("slices", 3, "bf16"), 4, 2)]
    cases += [MergeSlices(setup, 4, after, stage) for setup in (SLICES, ParallelSetup("slices", 2, "fp32"))
              for after, stage in ((1, 1), (3, 2), (2, 3))]
    cases += [MergeSlices(ParallelSetup("slices", 3, "fp32"), 4, 2, 3)]
    full = ParallelSetup("megatron", 1, "fp32")
    padded, unrecorded = replace(full, padding=2), replace(full, stage=2, recorded=False)
    cases += [MergeByPatterns(full, 4, 3, 2), MergeByPatterns(full, 2, 2, 1), MergeByPatterns(unrecorded, 4, 2, 3),
              MergeByPatterns(full, 4, 2, 1, universal=True), MergeByPatterns(padded, 4, 2, 2, universal=True),
              MergeByPatterns(replace(padded, recorded=False), 4, 2, 1, universal=True),
              MergeLikeConverter(full, 4), MergeLikeConverter(padded, 4), MergeLikeConverter(replace(full, stage=2), 2),
              AskedByName(unrecorded, 4), ParallelReshard(full, 4, 2)]
    unpartitioned = [replace(full, stage=0, precision=precision) for precision in ("fp32", "bf16", "fp16")]
    cases += [UnpartitionedSlices(setup, 4, 2) for setup in unpartitioned]
    cases += [UnpartitionedSlices(unpartitioned[0], 2, 4)]
    cases += [SlicesToStage(unpartitioned[0], 4, 2, stage) for stage in (1, 2, 3)]
    cases += [SlicesToStage(replace(full, stage=stage), 4, 2, 0) for stage in (1, 2, 3)]
    cases += [MergeByPatterns(unpartitioned[0], 4, 2, stage) for stage in (0, 1, 2, 3)]
    cases += [MergeByPatterns(unpartitioned[0], 2, 2, 1, universal=True)]
    one = replace(full, degree=1, padding=2, recorded=False)  # in bf16 sums in slices round differently
    four = replace(full, degree=4, padding=4)
    cases += [SplitSlices(full, 2, 4, 4, 1), SplitSlices(one, 2, 4, 2, 2, padding=4),
              SplitSlices(padded, 4, 4, 4, 1, padding=4, like_stock=True),
              SplitSlices(four, 4, 4, 2, 1, padding=2), SplitSlices(four, 4, 4, 2, 3, padding=6),
              SplitSlices(replace(full, stage=3), 4, 4, 4, 3), SplitSlices(four, 4, 2, 1, 2, padding=3),
              SplitLikeUniversal(padded, 4, 4, 4, 8), SplitLikeUniversal(four, 4, 2, 2)]
    cases += [SplitSlices(SLICES, 4, 4, 4, 1, like_stock=True), SplitSlices(replace(SLICES, degree=4), 4, 6, 2, 2),
              SplitSlices(ParallelSetup("slices", 3, "fp32"), 4, 4, 4, 3),
              SplitSlices(replace(SLICES, degree=1), 2, 4, 2, 1),
              SplitLikeUniversal(ParallelSetup("slices", 1, "fp32"), 4, 4, 4)]
    cases += stages_without_zero()
    staged = replace(full, stages=2)
    cases += [MergeLikeConverter(staged, 4), MergeByPatterns(staged, 4, 2, 1, universal=True),
              MergeByPatterns(replace(staged, padding=2, recorded=False), 4, 1, 1, universal=True)]
    cases += [MergeSlices(ParallelSetup("slices", 1, "fp32"), 4, 2, stage, universal=True) for stage in (1, 2, 3)]
    pipelines = (PIPELINE, ParallelSetup("pipeline", 1, "fp32"), ParallelSetup("pipeline", 1, "fp16"))
    cases += [MergeStages(setup, 4, after) for setup in pipelines for after in (2, 3)]
    cases += [MergeStages(setup, 2, 1) for setup in pipelines]
    cases += [MergeStages(ParallelSetup("pipeline", 1, precision), 4, after, stages, universal=True)
              for precision in ("fp32", "bf16") for after, stages in ((1, 1), (2, 1), (2, 2), (3, 3))]
    for precision in ("fp32", "bf16"):
        one, two, three = (ParallelSetup("pipeline", 1, precision, degree=stages) for stages in (1, 2, 3))
        deep = ParallelSetup("pipeline", 1, precision, degree=4, blocks=6)
        cases += [RepartitionStages(one, 2, 4, 2), RepartitionStages(two, 4, 3, 3), RepartitionStages(two, 2, 6, 3),
                  RepartitionStages(three, 3, 2, 2),
                  RepartitionStages(deep, 4, 4, 2), RepartitionStages(replace(deep, degree=2), 4, 4, 4),
                  RepartitionStages(three, 3, 3, 3, "parameters"), RepartitionStages(two, 4, 6, 3, "type:block"),
                  MergeStages(deep, 4, 2)]
    cases += [RepartitionStages(ParallelSetup("pipeline", 1, "bf16", bf16_optimizer=True), 4, 3, 3),
              RepartitionStages(ParallelSetup("pipeline", 1, "fp16"), 4, 3, 3)]
    return cases


def older_run():
    """AutoTP in 0.16 refuses stage 3, and does not record how its slices are merged."""
    return [
        *(ParallelReshard(setup, before, after) for setup in (EXPERTS, PIPELINE, SLICES, ParallelSetup("slices", 2, "fp32"))
          for before, after in ((4, 2), (2, 4))),
        RepartitionExperts(EXPERTS, 4, 4, 1),
        RepartitionExperts(EXPERTS, 4, 3, 1),
        MergeStages(PIPELINE, 4, 1),
        RepartitionStages(PIPELINE, 4, 3, 3),
        MergeByPatterns(MEGATRON, 4, 3, 2),
        SplitSlices(MEGATRON, 2, 4, 4, 1),
    ]
