// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/chunk_sink.h"
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/halt.h"
#include "core/engine/stream/output_file.h"
#include "core/engine/verify/verify_output.h"

namespace shardscope {

/// What all files that are read back share.
struct VerifyContext {
    const OutputModel* model = nullptr; ///< may be null
    ElementDigests& digests;
    const ComputeBackend& backend;
    StageTimes& times;
    const Halt& halt;
};

/// Reads an output file back from the disk, in order and once, and compares what is there with what was
/// written: SHA-256, the archive's directory as the reader sees it, every record's size and CRC. Elements
/// that the model finds in it are added to the digests. VerifyFailed, with the file named, where
/// anything differs.
Status verifyOutputFile(io::FileSystem& files, const io::Path& path, const WrittenFile& written,
    bool torchArchive, const VerifyContext& context, ChunkBuffers& buffers, bool threaded);

/// VerifyFailed, with the tensor named, where the digests of what was read back are not those of what was
/// copied.
Status compareDigests(const std::vector<PlanTensor>& tensors, const std::vector<Digest>& meant,
    const std::vector<Digest>& found);

} // namespace shardscope
