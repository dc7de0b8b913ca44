// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/torch_file.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Which parts of a file's storages its tensors use. torch.save writes a storage whole for every view of it,
/// so that a slice of a flat buffer stores the whole buffer.
struct StorageUse {
    struct OfStorage {
        uint64_t bytes = 0;
        /// Ascending, apart from each other; bytes from the storage's start. Views that overlap are one run.
        std::vector<std::pair<uint64_t, uint64_t>> used;
    };
    std::map<std::string, OfStorage, std::less<>> storages; ///< by key
    uint64_t storedBytes = 0;
    uint64_t usedBytes = 0;

    /// Whether it is more than rounding: half of what is stored, and a mebibyte.
    [[nodiscard]] bool isBloated() const;
};

StorageUse storageUseOf(const TorchFile& file);

} // namespace shardscope
