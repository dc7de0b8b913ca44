// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace shardscope {

/// Positions in the lists of one Checkpoint. Strong types, so that one is not passed for another.
enum class ParamId : uint32_t {}; ///< index into Checkpoint::params
enum class UnitId : uint32_t {}; ///< index into Checkpoint::units
enum class FileId : uint32_t {}; ///< index into Checkpoint::files

inline constexpr ParamId kNoParam{0xFFFFFFFFu};
inline constexpr UnitId kNoUnit{0xFFFFFFFFu};
inline constexpr FileId kNoFile{0xFFFFFFFFu};

constexpr uint32_t index(ParamId id)
{
    return static_cast<uint32_t>(id);
}
constexpr uint32_t index(UnitId id)
{
    return static_cast<uint32_t>(id);
}
constexpr uint32_t index(FileId id)
{
    return static_cast<uint32_t>(id);
}

} // namespace shardscope
