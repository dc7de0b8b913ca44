// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

/// A run of one parameter's state and the bytes that hold it.
struct Fragment {
    ParamId param = kNoParam; ///< the owner, where an alias was asked for
    uint64_t paramOffset = 0; ///< elements
    UnitId unit = kNoUnit; ///< kNoUnit for tensors stored whole
    RankCoordinate rank;
    uint64_t flatOffset = 0; ///< elements, inside the rank's flat buffer
    uint64_t elements = 0;
    std::string state;
    DType dtype = DType::Unknown;
    /// A run of a matrix that is stored column by column, in that order: paramOffset is a stored number
    /// (Checkpoint::transposedOrder). Only where fragments were asked for as they are stored.
    bool columnMajor = false;
    FileId file = kNoFile; ///< kNoFile: missing, or beyond what a short shard holds
    uint32_t record = 0;
    uint64_t byteOffset = 0; ///< from the start of the file
    uint64_t bytes = 0;
};

/// A state of a parameter that was found: in a flat unit, or stored whole. Points into the checkpoint.
struct StateSource {
    ParamId param = kNoParam; ///< the owner, where an alias was asked for
    uint64_t elements = 0;
    UnitId unit = kNoUnit;
    uint32_t stateIndex = 0; ///< into FlatUnit::states, when `unit` is set
    const WholeTensor* whole = nullptr; ///< set when `unit` is not
    DType dtype = DType::Unknown;
};

/// NotFound when there is no such parameter or it has no such state; an alias has its owner's.
Result<StateSource> findState(const Checkpoint& checkpoint, ParamId param, std::string_view state);

/// Fragments of elements [begin, end) in element order, without building a list. Stops when `visit` returns
/// false. Flat units: one per rank, or one per element where they store a matrix column by column;
/// whole tensors: one when contiguous, else one per contiguous run.
/// `Fragment::state` is empty: the caller knows it.
void forEachFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin, uint64_t end,
    const std::function<bool(const Fragment&)>& visit);

/// The same for elements by their stored numbers, in that order: one fragment per rank where
/// forEachFragmentOf() has one per element (Checkpoint::transposedOrder). The same as it for all others.
void forEachStoredFragmentOf(const Checkpoint& checkpoint, const StateSource& source, uint64_t begin,
    uint64_t end, const std::function<bool(const Fragment&)>& visit);

/// The same as a list. Usage when the range is not inside the parameter, LimitExceeded above a million
/// fragments (only tensors that are not stored row by row have that many).
Result<std::vector<Fragment>> fragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state, uint64_t begin, uint64_t end);

/// Fragments that one rank of a unit's partition holds of a state, in flat order and as they are stored,
/// padding left out. Stops when `visit` returns false.
void forEachFragmentOnRank(const Checkpoint& checkpoint, UnitId unit, uint32_t stateIndex, uint32_t share,
    const std::function<bool(const Fragment&)>& visit);

/// All fragments of a parameter's state as they are stored, as a list; LimitExceeded as above.
Result<std::vector<Fragment>> storedFragmentsOf(
    const Checkpoint& checkpoint, ParamId param, std::string_view state);

enum class PaddingKind { None, Stored, Implied };
std::string_view paddingKindName(PaddingKind kind); ///< "none", "stored", "implied"

struct PaddingInfo {
    uint64_t elements = 0;
    PaddingKind kind = PaddingKind::None;
};
/// Padding of one unit's state on one rank of its partition, and whether its bytes are in the file. A part of
/// it that is stored (by old DeepSpeed, and all that lies between parameters) counts as stored. For a missing
/// shard, what its neighbours do.
PaddingInfo paddingOf(const FlatUnit& unit, const UnitState& state, uint32_t share);

/// States a parameter has: those of its unit, then "weight" when it is stored whole. An alias has its
/// owner's.
std::vector<std::string> statesOf(const Checkpoint& checkpoint, ParamId param);

/// Reads elements [begin, end) of one parameter and state into `out` (little-endian elements of the state's
/// dtype). Refused when a fragment is missing. `out` holds (end − begin) × item size bytes, else Usage.
/// Beside `out`, a tensor with odd strides or a matrix that is stored column by column costs a window of at
/// most 16 MiB.
Status readElements(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, uint64_t begin, uint64_t end, std::span<uint8_t> out);

} // namespace shardscope
