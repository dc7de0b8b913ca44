// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Writes an ordinary zip archive, record by record, deflated if that is shorter. All times are the minimum
/// of zip, so that equal content gives equal bytes. Needs zip64 readers above 65,534 records or 4 GiB.
/// Source: PKWARE APPNOTE 6.3. Not thread-safe.
class SkeletonZip
{
public:
    explicit SkeletonZip(io::WriteFile& file)
        : m_file(file)
    {
    }

    /// LimitExceeded if `content` has 4 GiB or more.
    Status add(std::string_view name, std::string_view content);
    /// Ends the archive; no records can be added afterwards.
    Status finish();
    [[nodiscard]] uint64_t bytes() const { return m_at; }

private:
    Status write(std::string_view bytes);

    io::WriteFile& m_file;
    uint64_t m_at = 0;
    uint64_t m_entries = 0;
    std::string m_directory;
};

} // namespace shardscope
