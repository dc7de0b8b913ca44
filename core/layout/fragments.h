// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/layout: where every element of a parameter is stored, in both directions, and addresses that
// users type. Start with Fragment and fragmentsOf(); address.h has the notations, map_query.h serves the map.

#include "core/checkpoint/model/checkpoint.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

/// A run of one parameter's state and its bytes in a file.
struct Fragment {
    ParamId param = kNoParam; ///< the owner, if an alias was requested
    uint64_t paramOffset = 0; ///< elements
    UnitId unit = kNoUnit; ///< kNoUnit for whole tensors
    RankCoordinate rank;
    uint64_t flatOffset = 0; ///< elements, inside the rank's flat buffer
    uint64_t elements = 0;
    std::string state;
    DType dtype = DType::Unknown;
    /// A run of a matrix stored column by column, in that order: paramOffset is a storage index
    /// (Checkpoint::transposedOrder). Only if fragments were requested in stored order.
    bool columnMajor = false;
    FileId file = kNoFile; ///< kNoFile: missing, or beyond the end of a short shard
    uint32_t record = 0;
    uint64_t byteOffset = 0; ///< from the start of the file
    uint64_t bytes = 0;
};

/// A stored state of a parameter: in a flat unit, or a whole tensor. Points into the checkpoint.
struct StateSource {
    ParamId param = kNoParam; ///< the owner, if an alias was requested
    uint64_t elements = 0;
    UnitId unit = kNoUnit;
    uint32_t stateIndex = 0; ///< into FlatUnit::states, when `unit` is set
    const WholeTensor* whole = nullptr; ///< set when `unit` is not
    DType dtype = DType::Unknown;
};

/// NotFound if there is no such parameter or it has no such state. An alias has its owner's states.
Result<StateSource> findState(const Checkpoint& checkpoint, ParamId param, std::string_view state);

/// Visits fragments of elements [begin, end) in element order. Stops when `visit` returns false. Flat units:
/// one per rank, or one per element if they store a matrix column by column. Whole tensors: one if
/// contiguous, else one per contiguous run. `Fragment::state` is empty.
void forEachFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin, uint64_t end,
    const std::function<bool(const Fragment&)>& visit);

/// The same for elements by storage index, in that order: one fragment per rank where forEachFragmentOf()
/// has one per element (Checkpoint::transposedOrder). Equal to it for all others.
void forEachStoredFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit);

/// The same as a list. Usage if the range is not inside the parameter, LimitExceeded above a million
/// fragments (only tensors that are not stored row by row have so many).
Result<std::vector<Fragment>> fragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t begin, uint64_t end);

/// Visits the fragments of a state on one rank of a unit's partition, in flat and stored order, without
/// padding. Stops when `visit` returns false.
void forEachFragmentOnRank(const Checkpoint& checkpoint, UnitId unit, uint32_t stateIndex, uint32_t share,
    const std::function<bool(const Fragment&)>& visit);

/// All fragments of a parameter's state in stored order, as a list; LimitExceeded as above.
Result<std::vector<Fragment>> storedFragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state);

enum class PaddingKind { None, Stored, Implied };
std::string_view paddingKindName(PaddingKind kind); ///< "none", "stored", "implied"

struct PaddingInfo {
    uint64_t elements = 0;
    PaddingKind kind = PaddingKind::None;
};
/// Padding of one unit's state on one rank of its partition, and whether its bytes are in the file. Counts as
/// stored if a part is stored (by old DeepSpeed, or between parameters). A missing shard is treated as its
/// neighbours.
PaddingInfo paddingOf(const FlatUnit& unit, const UnitState& state, uint32_t share);

/// The states of a parameter: those of its unit, then "weight" if it is a whole tensor. An alias has its
/// owner's states.
std::vector<std::string> statesOf(const Checkpoint& checkpoint, ParamId param);

/// Elements [begin, end) of one state of a parameter.
struct StateRange {
    ParamId param = kNoParam;
    std::string_view state;
    uint64_t begin = 0;
    uint64_t end = 0;
};

/// Reads a range into `out` (little-endian elements of the state's dtype). Refused if a fragment is missing.
/// Usage unless `out` has (end − begin) × item size bytes. A tensor with odd strides or a matrix stored
/// column by column needs an additional window of at most 16 MiB.
Status readElements(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRange& range, std::span<uint8_t> out);

} // namespace shardscope
