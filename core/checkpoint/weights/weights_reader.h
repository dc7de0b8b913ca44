// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Whether a file's name or its first bytes are those of safetensors weights, or of the index of several.
bool isWeightsIndex(
    std::string_view name); ///< "model.safetensors.index.json", "pytorch_model.bin.index.json"
Result<bool> isSafetensorsFile(io::FileSystem& files, const io::Path& path);

/// Fills a checkpoint of kind Weights from one safetensors file or state dict of torch, or from all that an
/// index names beside it: parameters that are stored whole, without an optimizer. A file that is missing or
/// damaged becomes a finding; when it is the only one, its error is the answer.
Status readWeightsFile(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out);
Status readWeightsIndex(io::FileSystem& files, const io::Path& path, JobContext& job, Checkpoint& out);
/// The same from a folder of NumPy files with their index (core/torchfile/formats/npy_folder.h). Errors as
/// readNpyFolder().
Status readNpyWeights(io::FileSystem& files, const io::Path& folder, JobContext& job, Checkpoint& out);

} // namespace shardscope
