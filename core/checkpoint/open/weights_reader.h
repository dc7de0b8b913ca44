// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Whether a file's name or its first bytes are those of safetensors weights, or of an index of several such
/// files.
bool isWeightsIndex(
    std::string_view name); ///< "model.safetensors.index.json", "pytorch_model.bin.index.json"
Result<bool> isSafetensorsFile(io::FileSystem& files, const io::Path& path);

/// Fills a checkpoint of kind Weights from one safetensors file, one state dict of torch, or all files that
/// an index names in its folder. Parameters are stored whole, without an optimizer. A missing or damaged file
/// becomes a finding. If it is the only file, its error is returned.
Status readWeightsFile(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out);
Status readWeightsIndex(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out);
/// Does the same for a folder of NumPy files with their index (core/torchfile/formats/npy_folder.h). Errors
/// as readNpyFolder().
Status readNpyWeights(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out);

} // namespace shardscope
