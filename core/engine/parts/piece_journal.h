// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/wire.h"
#include "core/engine/parts/piece.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

void wire(auto& io, Wired<FilePiece> auto& piece)
{
    io(piece.file, piece.range.begin, piece.range.end);
}

/// The journal of one part: a line for each piece that is on the disk, one for each that was read back, and
/// one for each file that a process has ended its work on. Incomplete lines are ignored. Numbers are decimal,
/// each list begins with its length:
///
///   CRC32 " piece " FILE BEGIN END, [END DIGEST]…, late [BEGIN END]…, parts [RECORD BEGIN END CRC OFFSET]…,
///         elements [TENSOR FIRST COUNT OFFSET DIGEST]…, sources [SOURCE RECORD BEGIN END CRC]…,
///         touched [SOURCE RECORD]…, RUN
///   CRC32 " checked " FILE BEGIN END
///   CRC32 " left " FILE RUN, before INODE BYTES MODIFIED CHANGED, after INODE BYTES MODIFIED CHANGED
struct PieceJournal {
    std::vector<PieceRecord> pieces;
    std::vector<FilePiece> checked;
    std::vector<FileRun> runs;
};

/// The lines, each ending with a line feed.
std::string journalLine(const PieceRecord& record);
std::string journalLine(const FilePiece& checked);
std::string journalLine(const FileRun& run);
/// Appends what `text` has to `journal`.
void parsePieceJournal(std::string_view text, PieceJournal& journal);

/// Removes pieces that overlap others, which two processes with different parts may have written, and sorts
/// the rest by file and begin.
void makeDisjoint(std::vector<PieceRecord>& pieces);
/// The pieces of one file, of sorted ones.
std::span<const PieceRecord> recordsOf(std::span<const PieceRecord> pieces, uint32_t file);
/// The ranges of pieces.
std::vector<FilePiece> rangesOf(std::span<const PieceRecord> pieces);

} // namespace shardscope
