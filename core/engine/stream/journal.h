// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The journal of a work folder: one line per finished file and one when all is sealed. A line that was not
/// written whole does not count, wherever it stands.
///
///   CRC32 " file " SHA256 " " BYTES " " PATH            (path as addresses spell it, percent-encoded)
///   CRC32 " sealed " INODE " " SHA256 " " 0|1 " " FINGERPRINT
struct JournalFile {
    std::string path;
    uint64_t bytes = 0;
    std::string sha256;
};

/// Everything is in place under the work folder; only renaming is left. The folder's inode tells later
/// whether the rename happened: it keeps its number, and an older target cannot have both it and the
/// manifest.
struct JournalSeal {
    uint64_t inode = 0;
    std::string manifestSha256;
    bool verified = false;
    std::string fingerprint; ///< empty when there is none
};

struct Journal {
    std::vector<JournalFile> files;
    std::optional<JournalSeal> seal;
};

/// The lines, each ending with a line feed.
std::string journalLine(const JournalFile& file);
std::string journalLine(const JournalSeal& seal);
Journal parseJournal(std::string_view text);

} // namespace shardscope
