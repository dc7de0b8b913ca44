// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The journal of a work folder: one line per finished file and one when all is sealed. Incomplete lines are
/// ignored, as are lines for files with digests of release 0.1; its "sealed" has a fingerprint of version 1,
/// which is not read.
///
///   CRC32 " file " DIGEST " " BYTES " " PATH            (path as addresses spell it, percent-encoded)
///   CRC32 " sealed2 " INODE " " SHA256 " " 0|1 " " FINGERPRINT
struct JournalFile {
    std::string path;
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
};

/// Everything is in the work folder; only the rename is left. The folder's inode later shows whether the
/// rename happened: it does not change, and an older target cannot have both this inode and the manifest.
struct JournalSeal {
    uint64_t inode = 0;
    std::string manifestSha256;
    bool verified = false;
    std::string fingerprint; ///< 32 hex digits, of version 2; empty if there is none
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
