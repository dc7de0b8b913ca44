// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/compose/wrapper_carry.h"

#include <string_view>

namespace shardscope {

/// Whether transformers reads a file of this name next to a model's weights: configuration, generation
/// defaults, tokenizer and processors, chat templates, and custom model code.
bool isModelFile(std::string_view name);

/// The files of that kind next to the checkpoint: in the run folder, which is also a Trainer's
/// `checkpoint-N`, or next to weights; with `ofText` only those for tokenization. Sorted by name, with their
/// sources appended to `sources`.
Result<std::vector<CarriedFile>> modelFilesNextTo(
    io::FileSystem& files, const Checkpoint& source, std::vector<PlanSource>& sources, bool ofText = false);

} // namespace shardscope
