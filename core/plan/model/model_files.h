// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/wrapper_carry.h"

#include <string_view>

namespace shardscope {

/// Whether transformers reads a file of this name beside a model's weights: configuration, generation
/// defaults, tokenizer and processors, chat templates, and the code of models that bring their own.
bool isModelFile(std::string_view name);

/// The files of that kind that lie beside the checkpoint: in the run folder, which is also a Trainer's
/// `checkpoint-N`, or beside weights; with `ofText` those alone that turn text into tokens. In the order of
/// their names, with their sources appended to `sources`.
Result<std::vector<CarriedFile>> modelFilesBeside(
    io::FileSystem& files, const Checkpoint& source, std::vector<PlanSource>& sources, bool ofText = false);

} // namespace shardscope
