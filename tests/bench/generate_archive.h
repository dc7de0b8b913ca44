// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace shardscope::bench {

/// A storage that is made while it is written.
struct GeneratedStorage {
    uint64_t bytes = 0;
    /// Bytes [begin, begin + out.size()) of it. Pieces begin at multiples of 4 MiB.
    std::function<void(uint64_t begin, std::span<uint8_t> out)> fill;
    bool hole = false; ///< zeros that take no space on disk; `fill` is not called
};

/// Writes what torch.save writes for this pickle and these storages: records, order, alignment, CRCs. Memory:
/// 4 MiB and the directory.
Status writeGeneratedArchive(
    const io::Path& path, const std::string& pickle, const std::vector<GeneratedStorage>& storages);

} // namespace shardscope::bench
