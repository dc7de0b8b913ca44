// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/stream/byte_range.h"
#include "core/plan/model/write_plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// Takes the CRCs of ranges of source records while they are read.
class SourceSums
{
public:
    virtual ~SourceSums() = default;

    /// Marks the record as used: all of it has to be summed once.
    virtual void touch(uint32_t source, uint32_t record) = 0;
    /// The same for a range to sum. Sets `unclaimed` to the parts of the range that nobody sums yet; none if
    /// the record was saved without a CRC.
    virtual void claim(uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& unclaimed)
        = 0;
    /// Adds the CRC of a claimed range. Damaged if the record is complete now and does not match its saved
    /// CRC.
    virtual Status complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc) = 0;
};

/// Damaged if `crc`, that of a whole record, is not the saved one.
Status checkSavedCrc(const PlanSource& source, uint32_t record, uint32_t crc);

/// Combines the CRCs of source records from pieces that are read in any order by any thread, and compares
/// them with the saved ones.
///
/// A range is claimed before it is read and completed afterwards. A claimed range is not returned again, so a
/// record that is the source of many files is summed once. Memory depends on the open gaps, not on the
/// pieces.
class SourceCrcs final : public SourceSums
{
public:
    explicit SourceCrcs(const std::vector<PlanSource>& sources);

    void touch(uint32_t source, uint32_t record) override;
    void claim(uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& unclaimed) override;
    Status complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc) override;

    struct Gap {
        uint32_t source = 0;
        uint32_t record = 0;
        ByteRange range;
    };
    /// The gaps of used records. Must not be called while claim() or complete() run.
    [[nodiscard]] std::vector<Gap> gaps() const;

private:
    struct Piece {
        uint64_t end = 0;
        uint32_t crc = 0;
        bool done = false;
    };
    using Pieces = std::map<uint64_t, Piece>; ///< by begin; adjacent completed pieces are merged
    struct PerSource {
        std::mutex mutex;
        std::unordered_map<uint32_t, Pieces> touched;
    };

    const std::vector<PlanSource>& m_sources;
    std::vector<std::unique_ptr<PerSource>> m_perSource;
};

} // namespace shardscope
