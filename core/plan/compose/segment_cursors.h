// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/plan/compose/refills.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace shardscope {

/// Segments that are known already.
std::function<std::unique_ptr<SegmentCursor>()> listCursor(std::vector<Segment> segments);

/// Copies one source record whole.
std::function<std::unique_ptr<SegmentCursor>()> wholeRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes);

/// A run of a copied record that belongs to a tensor. Byte offsets count from the start of the source file.
struct MarkedRun {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t tensor = Segment::kNoTensor;
};

/// Copies one source record whole, split at the borders of tensors. `runs` are ascending and do not overlap.
std::function<std::unique_ptr<SegmentCursor>()> markedRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes, const std::vector<MarkedRun>& runs);

/// One rank's flat buffer of a target unit, gathered from the source's units.
struct FlatTarget {
    std::shared_ptr<const Checkpoint> source;
    std::shared_ptr<const FlatUnit> unit; ///< target: params are the source's ids, partition the target's
    uint32_t rank = 0; ///< target rank
    std::string state;
    uint64_t first = 0; ///< start in the rank's buffer
    uint64_t elements = 0; ///< length: the partition, or the part that lean states keep
    DType castTo = DType::Unknown; ///< Unknown: keep the source's
    /// Whether the buffer keeps the order in which the source stores its matrices
    /// (Checkpoint::transposedOrder). If not, they are stored row by row.
    bool storedOrder = false;
    std::shared_ptr<const std::vector<uint32_t>> sourceOfFile; ///< FileId → index into WritePlan::sources
    /// Index into WritePlan::tensors of a parameter's state.
    std::function<uint32_t(ParamId)> tensorOf;
    /// For a repair: the source of lost elements. Null: nothing is lost.
    std::shared_ptr<const Refills> refills = nullptr;
};
std::function<std::unique_ptr<SegmentCursor>()> flatCursor(FlatTarget target);
/// One parameter's state, row by row.
struct TensorTarget {
    std::shared_ptr<const Checkpoint> source;
    std::shared_ptr<const std::vector<uint32_t>> sourceOfFile; ///< as FlatTarget's
    ParamId param = kNoParam;
    std::string state;
    DType castTo = DType::Unknown; ///< Unknown: keep the source's
    uint32_t tensor = Segment::kNoTensor; ///< index into WritePlan::tensors
    std::shared_ptr<const Refills> refills = nullptr; ///< as FlatTarget's
    uint64_t first = 0; ///< its first element
    std::optional<uint64_t> end{}; ///< if not all from there on
};
std::function<std::unique_ptr<SegmentCursor>()> tensorCursor(TensorTarget target);
/// Chains cursors: one after the other.
std::function<std::unique_ptr<SegmentCursor>()> chainedCursor(
    std::vector<std::function<std::unique_ptr<SegmentCursor>()>> parts);

/// The dtype in which the source stores a parameter's state. Nothing if there is no such state.
std::optional<DType> sourceType(const Checkpoint& source, ParamId param, std::string_view state);
/// The state that has a parameter's own values: its master, or the weight of what is not trained. Empty if no
/// file has it.
std::string valueStateOf(const Checkpoint& source, ParamId param);
/// Its dtype in the source.
std::optional<DType> valueType(const Checkpoint& source, ParamId param);

} // namespace shardscope
