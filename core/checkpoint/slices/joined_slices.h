// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// Where a tensor slice's elements stand in the whole parameter: `count` runs of `run` elements, `stride`
/// apart in the whole and `sliceStride` apart in the slice.
struct SlicePiece {
    ParamId slice = kNoParam; ///< parameter of JoinedSlices::of
    uint64_t first = 0; ///< element of the whole
    uint64_t stride = 0;
    uint64_t sliceFirst = 0; ///< element of the slice
    uint64_t sliceStride = 0;
    uint64_t run = 0;
    uint64_t count = 0;
};

/// What the converter writes beside a joined parameter, so that another number of slices can be cut from it
/// (deepspeed/checkpoint/universal_checkpoint.py, load_hp_checkpoint_state).
struct UniversalMarks {
    struct SubShape { ///< SubparamShape
        std::vector<std::string> patterns;
        std::vector<int64_t> shape;
        std::vector<uint64_t> sizes; ///< in place of shape[dimension]
        uint32_t dimension = 0;
    };
    uint32_t catDimension = 0;
    uint32_t subParams = 1;
    std::optional<SubShape> subShape;
    bool isVocabulary = false;
    uint64_t paddingRows = 0; ///< that were left out
};

/// Which slice of how many a part of a cut checkpoint is (cut_slices.h).
struct SliceOfCut {
    uint32_t slice = 0;
    uint32_t slices = 1;
    std::optional<uint64_t> vocabularyRows; ///< of all slices together, padding included
    bool asRecorded = false; ///< cut by what the run recorded, and not by patterns that were given
};

/// What the parameters of a joined checkpoint consist of. By parameter of the joined one, and empty where
/// stages were joined and not slices:
struct JoinedSlices {
    CheckpointPtr of; ///< the checkpoint whose parts are the slices
    std::vector<std::vector<SlicePiece>> pieces; ///< empty: not joined
    std::vector<UniversalMarks> marks;
    /// Slices of which each is the whole, parameters of `of`; empty where there are none.
    std::vector<std::vector<ParamId>> alike;
    /// Slices that no pattern names, which DeepSpeed joins along their first dimension; empty for others.
    std::vector<std::vector<ParamId>> unnamed;
    /// Joined stages: the same slice of every stage that shares the parameter, parameters of `of`.
    std::vector<std::vector<ParamId>> tied;
    std::vector<bool> isRuled; ///< joined by a pattern or for want of one, not by AutoTP's map
    /// A part of a cut checkpoint: `of` is the whole that was cut, of which each piece says what the part
    /// has. Elements that no piece has are rows of padding, zero. `alike` has the whole where the part is all
    /// of it.
    std::optional<SliceOfCut> cut;
    /// A part of a pipeline whose layers were dealt anew (cut_stages.h): `of` is the whole, every piece all
    /// of one of its parameters.
    bool isStage = false;
};

/// The checkpoint that lies in files, from which this one was joined or cut: itself where it was not.
const Checkpoint& storedUnder(const Checkpoint& checkpoint);

/// Visits elements [begin, end) of a joined parameter as runs of its slices, in order; stops when `visit`
/// returns false. Elements that no slice has are left out.
struct SliceRun {
    ParamId slice = kNoParam;
    uint64_t element = 0; ///< of the whole
    uint64_t sliceElement = 0;
    uint64_t elements = 0;
};
void forEachSliceRun(const std::vector<SlicePiece>& pieces, uint64_t begin, uint64_t end,
    const std::function<bool(const SliceRun&)>& visit);

class SliceRules;

/// The tensor slices of a checkpoint as one: parameters in their full shapes, stored whole, in pieces; a
/// checkpoint without slices is its only one, and loses the padding of its vocabulary. How slices join is
/// what `rules` say, else what the run recorded in `universal_checkpoint_info`: the map of AutoTP (0.18.9 and
/// later), or patterns. Unsupported, naming the parameters, where nothing says so; Damaged where the record
/// does not fit the shapes, Refused or Usage where the rules do not.
Result<CheckpointPtr> joinSlices(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// The pipeline stages of a checkpoint as one, if need be the only one: what the same PipelineModule holds
/// with one stage. Its param groups begin with the tied modules, then come the layers by their numbers
/// (deepspeed/runtime/pipe/module.py registers `tied_modules` first). A tied parameter is that of the first
/// stage that has it. Stages in slices are joined slice by slice first, and leave the tensors of their
/// layers' files behind. Refused where the stages' groups do not stand in that order or differ in their
/// options; Unsupported for experts.
Result<CheckpointPtr> joinStages(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// Slices, stages, both or nothing joined, whatever the checkpoint consists of.
Result<CheckpointPtr> joinParts(const CheckpointPtr& of, const SliceRules* rules = nullptr);

/// What a joined checkpoint begins with: the facts and files of `of`, one model-parallel rank, and no
/// parameters, units or groups yet.
std::shared_ptr<Checkpoint> emptyJoined(const Checkpoint& of);

/// Gives `out` one whole unit per param group of the first part that has parameters. `order`: parameters of
/// `out` by group of the first part, in the optimizer's order. Refused when the units of a group differ in
/// step or states: one entry stands for all of them.
Status addJoinedUnits(const Checkpoint& of, const std::vector<std::vector<ParamId>>& order, Checkpoint& out);

} // namespace shardscope
