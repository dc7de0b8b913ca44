// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/source_crcs.h"
#include "core/engine/stream/source_pool.h"

#include <vector>

namespace shardscope {

/// Completes the CRCs of the sources of a job.
struct SourceCheck {
    const WritePlan& plan;
    SourcePool& sources;
    SourceCrcs& crcs;
    std::vector<ChunkBuffers>& buffers; ///< one per worker
    JobContext& job;

    /// Reads and completes claimed ranges.
    Status readClaimed(const std::vector<SourceCrcs::Gap>& claimed) const;
    /// Reads the rest of used records, so that their CRCs can be compared; then checks that no source changed
    /// meanwhile. Damaged, SourceChanged.
    Status readRest() const;

private:
    Status readRange(const SourceCrcs::Gap& claimed, ChunkBuffers& buffers) const;
};

} // namespace shardscope
