// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"

namespace shardscope {

/// A parameter that an export takes, and its name in the output.
struct ExportName {
    ParamId param = kNoParam;
    std::string name;
};

/// In the order of the model's state dict. Tied parameters are represented by the owner, or by the first
/// matching alias if the owner does not match. Usage for a pattern, prefix or rename that matches no name,
/// and if two parameters get the same name. Pure.
Result<std::vector<ExportName>> exportNames(const Checkpoint& source, const ExportOptions& options);

} // namespace shardscope
