// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardscope {

/// What a checkpoint is wanted for, so that the doctor can say what stands in the way. What is not set is not
/// asked.
struct CheckTarget {
    std::optional<uint32_t> worldSize;
    std::optional<int> stage; ///< ZeRO, 0 to 3
    std::optional<uint64_t> memoryBytes; ///< of the machine that is to work with it
    std::optional<io::Path> disk; ///< a folder on the disk that copies go to
};

/// "world-size=8,stage=3,memory=64G,disk=/scratch", each at most once. Usage for anything else.
Result<CheckTarget> parseCheckTarget(std::string_view text);

} // namespace shardscope
