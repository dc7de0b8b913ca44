// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/engine/stream: generates the bytes of planned files in bounded memory and writes them, with
// journal and manifest. It uses core/plan/model and lower rooms; only core/engine/{verify,write} include it.
// Start with writeOutputFile(), then OutputWalk.

#include "core/engine/stream/output_walk.h"
#include "core/engine/stream/read_back.h"
#include "core/io/content_digest.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardscope {

/// A finished output file, as in the journal and the manifest.
struct WrittenFile {
    std::string path; ///< relative to the target
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
    std::vector<io::Xxh3Digest> chunks; ///< for reading back within the run
    std::vector<WrittenRecord> records;
    io::FileIdentity left
        = {}; ///< with its name, before it was read back or, if an earlier run wrote it, read
};

struct OutputFileSettings {
    bool threaded = true; ///< digest and write on a second thread
    bool sha256 = false; ///< record SHA-256 instead of the digest of chunks
    ReadBack* readBack = nullptr; ///< gets every chunk once the device has it; null: nothing is read back
    uint64_t windowBytes = 32u << 20; ///< write-back is started for every window of this size
    /// Asked before a file gets its name or, after a failure, is removed. After an error neither happens: the
    /// name can be another process's.
    std::function<Status()> mayGetName = {};
};

/// One file of a plan, and where it is.
struct OutputTask {
    const OutputFile& recipe;
    uint64_t bytes = 0;
    io::Path target;
};

/// Writes one output file: writes its target with ".tmp" appended, syncs it, and renames it. Its bytes are
/// generated, summed and written in one pass. After any failure the .tmp is removed and the target does not
/// exist.
Result<WrittenFile> writeOutputFile(io::FileSystem& files, const WalkContext& context, const OutputTask& task,
    ChunkBuffers& buffers, const OutputFileSettings& settings);

/// Passes a finished file to ReadBack, chunk by chunk.
Status readBackOutputFile(
    io::FileSystem& files, const OutputTask& task, const WrittenFile& written, ReadBack& readBack);

/// Reads a file that was finished before, with the same result as writing it: its CRCs and digests are added
/// to the context's.
Result<WrittenFile> replayOutputFile(io::FileSystem& files, const WalkContext& context,
    const OutputTask& task, ChunkBuffers& buffers, const OutputFileSettings& settings);

} // namespace shardscope
