// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/units/stage0_evidence.h"

#include <map>
#include <memory>

namespace shardscope {

/// One flat group in the optimizer files, before its parameters are known. ZeRO-1/2: the ranks' masters back
/// to back. ZeRO-3: every rank has its slices of all parameters.
struct NamelessGroup {
    std::vector<StoredRun> perRank; ///< for the ranks that share the group; absent if a file is unreadable
    DType type = DType::Float32;
    bool sliced = false;
    std::optional<uint64_t> recorded; ///< elements of its parameters, if `group_paddings` records them

    /// Whether the stored data can consist of parameters with this number of elements (ZeRO-3: with slices of
    /// this length). Before 0.5.2 partitions are only aligned to the number of ranks.
    [[nodiscard]] bool mayHold(uint64_t elements) const;
    /// Elements on every rank; 0 if no rank records it.
    [[nodiscard]] uint64_t partitionElements() const;
    /// Elements of its parameters, if nothing but padding was removed.
    [[nodiscard]] uint64_t exactElements() const;
};

/// All groups of the loaded optimizer files, in order. Experts are those of the first expert-parallel rank.
/// Empty if the files differ in their number of groups.
std::vector<NamelessGroup> readNamelessGroups(const Reading& reading);

/// Compares masters of ZeRO-1/2's groups with the model's copies, which the last step cast from them. The
/// first and the last elements must match bit for bit. Elements that cannot be compared count as matching.
class ShardEvidence
{
public:
    explicit ShardEvidence(const Reading& reading)
        : m_reading(reading)
    {
    }

    /// Whether `copy` may be the parameter that begins at `position` of the group.
    bool agrees(const ModuleTensor& copy, const NamelessGroup& group, uint64_t position);

private:
    using Bytes = std::vector<uint8_t>;
    static constexpr uint64_t kSample = 16; ///< elements at either end

    bool sameFrom(const ModuleTensor& copy, uint64_t first, const NamelessGroup& group, uint64_t position);
    const Bytes& read(FileId file, uint64_t byte, uint64_t bytes);

    const Reading& m_reading;
    std::map<uint32_t, std::unique_ptr<io::ReadFile>> m_files;
    std::map<std::tuple<uint32_t, uint64_t, uint64_t>, Bytes> m_known;
};

} // namespace shardscope
