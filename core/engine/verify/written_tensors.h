// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <string>
#include <vector>

namespace shardscope {

/// Whether a file's name is one for tensors: "….safetensors", or "….bin" in torch's format.
bool holdsTensors(const std::string& name);

/// The tensors of such a file from its header or pickle, ascending by offset, all stored row by row. Errors
/// of readSafetensors(), TorchFile::open() and stateDictTensors().
Result<std::vector<SafeTensor>> writtenTensors(io::FileSystem& files, const io::Path& path, JobContext& job);

} // namespace shardscope
