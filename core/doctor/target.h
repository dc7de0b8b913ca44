// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope {

/// The planned use of a checkpoint: the doctor reports what prevents it. Fields that are not set are not
/// checked.
struct CheckTarget {
    std::optional<uint32_t> worldSize;
    std::optional<int> stage; ///< ZeRO, 0 to 3
    std::optional<uint64_t> memoryBytes; ///< of the machine that will process it
    std::optional<io::Path> disk; ///< a folder on the disk for copies
};

/// "world-size=8,stage=3,memory=64G,disk=/scratch", each at most once. Usage for anything else.
Result<CheckTarget> parseCheckTarget(std::string_view text);

} // namespace shardscope
