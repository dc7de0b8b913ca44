// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/check_context.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <string>
#include <vector>

namespace shardscope {

/// A file of weights that other tools wrote beside a checkpoint.
struct WeightFile {
    std::string name; ///< relative to the tag folder: "../model.safetensors"
    std::vector<SafeTensor> tensors;
};

/// The readable ones in the run folder and in the tag folder: *.safetensors, and the state dicts of
/// pytorch_model*.bin. Headers and pickles are read, no weights. An error only when the job is cancelled.
Result<std::vector<WeightFile>> weightFilesBeside(const CheckContext& context);

/// The parameter that such a tensor is: by its name, or behind "module."; nothing when there is none.
std::optional<ParamId> paramOfTensor(const Checkpoint& checkpoint, std::string_view tensor);

} // namespace shardscope
