// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/output_walk.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// The error where journals of parts contradict each other about a file.
tl::unexpected<Error> doesNotFit(const std::string& path);

/// Combines the CRCs of one output file's records from parts that many threads, and earlier runs, have
/// passed. Thread-safe.
class RecordParts final : public RecordCrcs
{
public:
    /// `covered`: the ranges of the file that this process has or will have passed, disjoint and ascending.
    /// `recipe` and `halt` must live longer. Errors: those of archiveLayout().
    static Result<std::unique_ptr<RecordParts>> make(
        const OutputFile& recipe, std::vector<ByteRange> covered, const Halt& halt);

    void add(const RecordPart& part) override;
    void addLate(ByteRange range) override;
    /// The late bytes in a range of the file that were added so far, ascending.
    [[nodiscard]] std::vector<ByteRange> lateIn(ByteRange range);
    /// All parts were added by others: whole() waits no more, and fails if one is missing.
    void endWaiting() { m_waits = false; }
    /// Waits for other threads; Cancelled once the job stops.
    Result<std::optional<uint32_t>> whole(uint32_t record) override;

private:
    struct Piece {
        uint64_t end = 0;
        uint32_t crc = 0;
    };
    using Pieces = std::map<uint64_t, Piece>; ///< by begin; adjacent ones are merged

    RecordParts(const OutputFile& recipe, const Halt& halt);
    [[nodiscard]] bool isCovered(ByteRange range) const;

    const OutputFile& m_recipe;
    const Halt& m_halt;
    std::vector<uint64_t> m_payloads; ///< offsets in the file
    std::vector<ByteRange> m_covered; ///< merged
    bool m_waits = true;
    std::mutex m_mutex;
    std::condition_variable m_added;
    std::unordered_map<uint32_t, Pieces> m_parts;
    std::vector<ByteRange> m_late;
};

} // namespace shardscope
