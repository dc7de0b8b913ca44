// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/output_file.h"
#include "core/engine/verify/verify_output.h"

namespace shardscope {

/// The shared data for reading back files.
struct VerifyContext {
    io::FileSystem& files;
    const OutputModel* model = nullptr; ///< may be null
    ElementDigests& digests;
    const ComputeBackend& backend;
    StageTimes& times;
    const Halt& halt;
};

/// Reads an output file back from the disk once, in order, and compares it with the written data: SHA-256,
/// the archive's directory as the reader parses it, every record's size and CRC. Adds elements that the model
/// finds in it to the digests. VerifyFailed, with the file, if anything differs.
Status verifyOutputFile(const io::Path& path, const WrittenFile& written, const VerifyContext& context,
    ChunkBuffers& buffers, bool threaded);

/// VerifyFailed, with the tensor, if the digests of the data that was read back differ from those of the
/// copied data.
Status compareDigests(const std::vector<PlanTensor>& tensors, const std::vector<Digest>& meant,
    const std::vector<Digest>& found);

} // namespace shardscope
