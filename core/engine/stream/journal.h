// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// The journal of a work folder, which has a line once all is sealed; what was written before is in those of
/// the parts (core/engine/parts/piece_journal.h). Other and incomplete lines are ignored. "sealed", of
/// release 0.1, has a fingerprint of version 1, which is not read.
///
///   CRC32 " sealed2 " INODE " " SHA256 " " 0|1 " " FINGERPRINT
///
/// Everything is in the work folder; only the rename is left. The folder's inode later shows whether the
/// rename happened: it does not change, and an older target cannot have both this inode and the manifest.
struct JournalSeal {
    uint64_t inode = 0;
    std::string manifestSha256;
    bool verified = false;
    std::string fingerprint; ///< 32 hex digits, of version 2; empty if there is none
};

struct Journal {
    std::optional<JournalSeal> seal;
};

/// The line, ending with a line feed.
std::string journalLine(const JournalSeal& seal);
Journal parseJournal(std::string_view text);

} // namespace shardscope
