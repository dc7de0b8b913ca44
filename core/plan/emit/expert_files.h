// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

#include <map>
#include <memory>
#include <string>

namespace shardscope {

// Files of experts that are lost, made from their masters in the form of a neighbour's: a mapping of the
// expert's parameters by name (runtime/engine.py, _save_moe_checkpoint).

/// By parameter: the dtypes of what is made.
std::map<std::string, DType> expertTypes(const ReshardContext& context);
/// One of them, with the weights rounded to these. Refused where the neighbour holds what this expert has no
/// master of.
Result<OutputFile> composeExpert(const std::shared_ptr<const ReshardContext>& context,
    const ReshardContext::Copied& from, const std::string& name);

} // namespace shardscope
