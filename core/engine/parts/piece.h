// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/engine/parts: writes a plan's output in parts, by several processes and in several runs, and
// combines what they recorded. Start with PartWriter, then PartCombiner.

#include "core/engine/stream/output_walk.h"
#include "core/io/content_digest.h"

#include <cstdint>
#include <vector>

namespace shardscope {

/// A range of one output file: what one thread writes in one go, and the unit in which a job goes on.
struct FilePiece {
    uint32_t file = 0; ///< index into WritePlan::files
    ByteRange range;

    bool operator==(const FilePiece& other) const
    {
        return file == other.file && range.begin == other.range.begin && range.end == other.range.end;
    }
};

/// The digest of bytes of a file within one chunk of kDigestChunkBytes.
struct BytesDigest {
    ByteRange range;
    io::Xxh3Digest digest;
};

/// The sum over consecutive elements of a tensor.
struct ElementsSum {
    uint32_t tensor = 0; ///< index into WritePlan::tensors
    uint64_t first = 0;
    uint64_t count = 0;
    uint64_t offset = 0; ///< of their bytes in the output file
    Digest digest;
};

/// The CRC of a range of a source record.
struct SourcePart {
    uint32_t source = 0; ///< index into WritePlan::sources
    uint32_t record = 0;
    ByteRange range;
    uint32_t crc32 = 0;
};

/// What is known about a written piece: enough to complete the file, its digest, the fingerprint and the
/// check of the sources without reading the piece again.
struct PieceRecord {
    FilePiece piece;
    std::vector<BytesDigest> digests; ///< ascending, of all bytes, the late ones as zeros
    std::vector<ByteRange> late; ///< WalkedWindow::late
    std::vector<RecordPart> parts; ///< WalkedWindow::parts
    std::vector<ElementsSum> elements; ///< in the order of their bytes
    std::vector<SourcePart> sources;
    std::vector<std::pair<uint32_t, uint32_t>> touched; ///< source and record: has to be summed whole
    uint64_t run = 0; ///< FileRun::run of the process that wrote it
};

/// An output file before and after one process wrote pieces of it. Without the device, whose number differs
/// between machines.
struct FileRun {
    uint32_t file = 0; ///< index into WritePlan::files
    uint64_t run = 0; ///< a random number for each process and start
    io::FileIdentity before; ///< inode 0: the file was absent
    io::FileIdentity after; ///< once all its pieces were written and, if that was asked for, read back
};

} // namespace shardscope
