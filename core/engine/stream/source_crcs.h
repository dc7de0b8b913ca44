// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/plan/model/write_plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// Bytes of a record, counted from the start of its payload.
struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;
};

/// Puts the CRCs of source records together from pieces that are read in any order by any thread, and
/// compares them.
///
/// A range is claimed before it is read and completed afterwards; what was claimed once is not handed out
/// again, so a record that many files copy from is still summed once. Memory follows the gaps that are open,
/// not the pieces.
class SourceCrcs
{
public:
    explicit SourceCrcs(const std::vector<PlanSource>& sources);

    /// Marks the record as read from, so that what nobody claims of it is a gap.
    void touch(uint32_t source, uint32_t record);
    /// The same for a range that is about to be summed. `fresh` becomes the parts of the range that nobody
    /// has claimed yet; none where the record was saved without a CRC.
    void claim(uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& fresh);
    /// Gives the CRC of a claimed range. Damaged when that completes the record and its CRC is not the one it
    /// was saved with.
    Status complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc);

    struct Gap {
        uint32_t source = 0;
        uint32_t record = 0;
        ByteRange range;
    };
    /// What is missing of the records that were read from. Not while claim() or complete() run.
    [[nodiscard]] std::vector<Gap> gaps() const;

private:
    struct Piece {
        uint64_t end = 0;
        uint32_t crc = 0;
        bool done = false;
    };
    using Pieces = std::map<uint64_t, Piece>; ///< by begin; done ones that touch are merged
    struct PerSource {
        std::mutex mutex;
        std::unordered_map<uint32_t, Pieces> touched;
    };

    Status checkRecord(uint32_t source, uint32_t record, uint32_t crc) const;

    const std::vector<PlanSource>& m_sources;
    std::vector<std::unique_ptr<PerSource>> m_perSource;
};

} // namespace shardscope
