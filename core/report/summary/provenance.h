// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// A fact about who wrote a checkpoint, and the file that has it.
struct ProvenanceFact {
    std::string name; ///< "DeepSpeed", "Framework", "Written", …
    std::string value;
    FileId file = kNoFile; ///< of the checkpoint; none if the fact is of several, or of a file next to it
};

/// Who wrote a checkpoint, with what, at which step and when.
struct Provenance {
    std::vector<ProvenanceFact> facts; ///< without what no file records
    /// Seconds since 1970 at which the first and the last of its files were written; 0 if there are none.
    int64_t firstWritten = 0;
    int64_t lastWritten = 0;
};

/// Reads at most two small files next to it: the manifest of a job of this program, and a framework's
/// config.json.
Provenance provenanceOf(io::FileSystem& files, const Checkpoint& checkpoint);

} // namespace shardscope
