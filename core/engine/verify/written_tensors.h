// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <string>
#include <vector>

namespace shardscope {

/// Whether a file's name is that of tensors: "….safetensors", or "….bin" of torch's form.
bool holdsTensors(const std::string& name);

/// The tensors of such a file as its own header or pickle tells them, ascending by offset; all of them stored
/// row by row. Errors as readSafetensors(), TorchFile::open() and stateDictTensors().
Result<std::vector<SafeTensor>> writtenTensors(io::FileSystem& files, const io::Path& path, JobContext& job);

} // namespace shardscope
