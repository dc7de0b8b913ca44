// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/torchfile/formats/safetensors_file.h"
#include "core/torchfile/torch_file.h"

#include <memory>
#include <vector>

namespace shardscope {

/// Whether the pickle is what `torch.save` makes of a state dict: a mapping of names to tensors, at least one
/// of them, and nothing else.
[[nodiscard]] bool isStateDict(const PickleGraph& graph);

/// The tensors of such a file, ascending by offset; all of them stored row by row. Damaged where a tensor is
/// outside its record or the file is not a state dict; Unsupported, by name, for tensors that are views of
/// another order, and for big-endian files.
Result<std::vector<SafeTensor>> stateDictTensors(const TorchFile& file);

} // namespace shardscope
