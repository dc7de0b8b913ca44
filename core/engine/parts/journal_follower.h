// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece_journal.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// Reads the journal of a part while another process, on any machine, appends to it. Used by one thread.
class JournalFollower
{
public:
    /// `expected`: the pieces that the other process writes now. The journal need not exist yet; up to
    /// `offset` it is of earlier runs, which may have written the same pieces.
    JournalFollower(
        io::FileSystem& files, io::Path journal, uint64_t offset, std::vector<FilePiece> expected);

    /// The expected pieces that were recorded since the last call. None if the journal cannot be read:
    /// whatever was not returned in the end has to be learned in another way.
    std::vector<PieceRecord> take();
    /// Of the pieces that were expected at first.
    [[nodiscard]] uint64_t bytes() const { return m_bytes; }

private:
    std::string nextLines();

    io::FileSystem& m_files;
    io::Path m_journal;
    std::vector<FilePiece> m_expected; ///< and not yet returned
    uint64_t m_bytes = 0;
    uint64_t m_offset;
};

} // namespace shardscope
