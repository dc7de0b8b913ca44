// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::zip {

enum class Oddity {
    HeaderDamaged, ///< no local header where the directory says
    HeaderUnreadable, ///< I/O error there
    DescriptorWrong,
    Unchecked, ///< no CRC
    Unaligned,
    Compressed,
    ForeignPadding,
    SpecialAttributes, ///< marked as symbolic link or device
    Folder,
    Gap, ///< bytes between records that belong to none
    Trailing,
    Comment,
    Count_,
};

/// Collects what is odd about an archive: one finding per kind however many records it concerns, since one
/// program writes all records of a file alike.
class Oddities
{
public:
    /// `bytes` adds up over calls.
    void add(Oddity kind, std::string_view record, uint64_t bytes = 0);
    [[nodiscard]] std::vector<Finding> findings() const;

private:
    struct Seen {
        uint64_t count = 0;
        uint64_t bytes = 0;
        std::vector<std::string> firstRecords;
    };
    std::array<Seen, static_cast<size_t>(Oddity::Count_)> m_seen;
};

} // namespace shardscope::zip
