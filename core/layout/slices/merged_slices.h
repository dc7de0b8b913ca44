// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/layout/slices: turns the tensor slices and pipeline stages of a checkpoint into one Checkpoint
// in memory, and back. Start with MergedSlices and mergeSlices().

#include "core/checkpoint/model/checkpoint.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Where the elements of a tensor slice are in the whole parameter: `count` runs of `run` elements. The runs
/// are `stride` elements apart in the whole and `sliceStride` elements apart in the slice.
struct SlicePiece {
    ParamId slice = kNoParam; ///< parameter of MergedSlices::of
    uint64_t first = 0; ///< element of the whole
    uint64_t stride = 0;
    uint64_t sliceFirst = 0; ///< element of the slice
    uint64_t sliceStride = 0;
    uint64_t run = 0;
    uint64_t count = 0;
};

/// What the converter writes next to a merged parameter, so that it can be split into another number of
/// slices (deepspeed/checkpoint/universal_checkpoint.py, load_hp_checkpoint_state).
struct UniversalMarks {
    struct SubShape { ///< SubparamShape
        std::vector<std::string> patterns;
        std::vector<int64_t> shape;
        std::vector<uint64_t> sizes; ///< replace shape[dimension]
        uint32_t dimension = 0;
    };
    uint32_t catDimension = 0;
    uint32_t subParams = 1;
    std::optional<SubShape> subShape;
    bool isVocabulary = false;
    uint64_t paddingRows = 0; ///< rows that were left out
};

/// Which slice, of how many, a part of a split checkpoint is (split_slices.h).
struct SplitSlice {
    uint32_t slice = 0;
    uint32_t slices = 1;
    std::optional<uint64_t> vocabularyRows; ///< of all slices together, padding included
    bool asRecorded = false; ///< split by the run's record, not by given patterns
};

/// What the parameters of a merged checkpoint consist of. The lists are indexed by parameter of the merged
/// checkpoint. They are empty if stages were merged and not slices:
struct MergedSlices {
    CheckpointPtr of; ///< the checkpoint with the slices as its parts
    std::vector<std::vector<SlicePiece>> pieces; ///< empty: not merged
    std::vector<UniversalMarks> marks;
    /// Slices that are each equal to the whole, as parameters of `of`. Empty if there are none.
    std::vector<std::vector<ParamId>> alike;
    /// Slices that no pattern names. DeepSpeed merges them along their first dimension. Empty for others.
    std::vector<std::vector<ParamId>> unnamed;
    /// Merged stages: the same slice in every stage that shares the parameter, as parameters of `of`.
    std::vector<std::vector<ParamId>> tied;
    std::vector<bool> isRuled; ///< merged by a pattern or by default, not by AutoTP's map
    /// For a part of a split checkpoint. `of` is the whole that was split, and each piece says what the part
    /// has of it. Elements without a piece are rows of padding, zero. `alike` has the whole if the part is
    /// all of it.
    std::optional<SplitSlice> split;
    /// For a part of a pipeline with layers that were distributed again (split_stages.h). `of` is the whole.
    /// Every piece is all of one of its parameters.
    bool isStage = false;
};

/// The checkpoint in files that this one was merged or split from. It is the checkpoint itself if it was
/// neither.
const Checkpoint& storedUnder(const Checkpoint& checkpoint);

/// Visits elements [begin, end) of a merged parameter as runs of its slices, in order. Stops when `visit`
/// returns false. Skips elements that no slice has.
struct SliceRun {
    ParamId slice = kNoParam;
    uint64_t element = 0; ///< of the whole
    uint64_t sliceElement = 0;
    uint64_t elements = 0;
};
void forEachSliceRun(const std::vector<SlicePiece>& pieces, uint64_t begin, uint64_t end,
    const std::function<bool(const SliceRun&)>& visit);

class SliceRules;

/// Merges the tensor slices of a checkpoint: parameters have their full shapes and are stored whole, in
/// pieces. A checkpoint without slices counts as a single slice. Vocabularies lose their padding.
///
/// `rules` say how slices merge. Without them, the run's record in `universal_checkpoint_info` does: the map
/// of AutoTP (0.18.9 and later), or patterns. Unsupported, with the parameters' names, if nothing says so.
/// Damaged if the record does not fit the shapes; Refused or Usage if the rules do not.
Result<CheckpointPtr> mergeSlices(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// Merges the pipeline stages of a checkpoint, even if there is only one. The result is what the same
/// PipelineModule holds with one stage. Its param groups begin with the tied modules; the layers follow by
/// number (deepspeed/runtime/pipe/module.py registers `tied_modules` first). A tied parameter comes from the
/// first stage that has it. In stages with slices, the slices are merged first. The tensors of their layers'
/// files are then left out.
///
/// Refused if the stages' groups are not in that order or differ in their options. Unsupported for experts.
Result<CheckpointPtr> mergeStages(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// Merges slices, stages, both or nothing, depending on the checkpoint.
Result<CheckpointPtr> mergeSlicesAndStages(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// The start of a merged checkpoint: facts and files of `of`, one model-parallel rank. It has no parameters,
/// units or groups yet.
std::shared_ptr<Checkpoint> emptyMerged(const Checkpoint& of);

/// Gives `out` one whole unit per param group of the first part that has parameters. `order`: parameters of
/// `out` by group of the first part, in the optimizer's order. Refused if the units of a group differ in step
/// or states, because the group has only one entry.
Status addMergedUnits(const Checkpoint& of, const std::vector<std::vector<ParamId>>& order, Checkpoint& out);

} // namespace shardscope
