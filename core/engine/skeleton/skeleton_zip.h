// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Writes an ordinary zip archive, a record after the other, deflated where that is shorter. Times are zip's
/// first, so that equal content gives equal bytes. Needs zip64 readers where there are more than 65,534
/// records or 4 GiB. Source: PKWARE APPNOTE 6.3. Not thread-safe.
class SkeletonZip
{
public:
    explicit SkeletonZip(io::WriteFile& file)
        : m_file(file)
    {
    }

    /// LimitExceeded where `content` has 4 GiB or more.
    Status add(std::string_view name, std::string_view content);
    /// Ends the archive; nothing can be added then.
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
