// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardscope {

/// One of `count` parts of a plan's output.
struct Part {
    uint32_t index = 0; ///< from 0
    uint32_t count = 1; ///< at least 1
};

struct PieceSizes {
    /// Files are cut at multiples of this. Where it is smaller than a chunk of digests, those chunks are read
    /// once more in the end.
    uint64_t cutBytes = io::kDigestChunkBytes;
    uint64_t pieceBytes = 4 * io::kDigestChunkBytes; ///< of one piece, about
};

/// The ranges of output files that a part writes, in the plan's order, balanced by bytes: all parts together
/// are all files, without overlaps. Cuts are at multiples of PieceSizes::cutBytes that split no element.
/// Deterministic. Errors: those of WritePlan::recipe().
Result<std::vector<FilePiece>> rangesOf(const WritePlan& plan, Part part, const PieceSizes& sizes);

/// Divides ascending, disjoint ranges in the same way.
Result<std::vector<std::vector<FilePiece>>> divideRanges(
    const WritePlan& plan, std::span<const FilePiece> ranges, uint32_t count, const PieceSizes& sizes);

/// What `done` leaves of ascending, disjoint `ranges`. `done` is ascending and disjoint, too.
std::vector<FilePiece> without(std::span<const FilePiece> ranges, std::span<const FilePiece> done);

/// Cuts ranges into pieces of about PieceSizes::pieceBytes.
Result<std::vector<FilePiece>> splitRanges(
    const WritePlan& plan, std::span<const FilePiece> ranges, const PieceSizes& sizes);

/// The bytes of all pieces.
uint64_t bytesOf(std::span<const FilePiece> pieces);

} // namespace shardscope
