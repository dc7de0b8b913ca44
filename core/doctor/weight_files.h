// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/check_context.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <string>
#include <vector>

namespace shardscope {

/// A file of weights that other tools wrote next to a checkpoint.
struct WeightFile {
    std::string name; ///< relative to the tag folder: "../model.safetensors"
    std::vector<SafeTensor> tensors;
};

/// The readable weight files in the run folder and the tag folder: *.safetensors, and state dicts in
/// pytorch_model*.bin. Reads headers and pickles, no weights. The only error is Cancelled.
Result<std::vector<WeightFile>> weightFilesNextTo(const CheckContext& context);

/// The parameter of such a tensor, by its name with or without "module."; empty if there is none.
std::optional<ParamId> paramOfTensor(const Checkpoint& checkpoint, std::string_view tensor);

} // namespace shardscope
