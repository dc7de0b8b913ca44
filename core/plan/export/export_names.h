// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"

namespace shardscope {

/// Which parameters of a checkpoint an export takes, and under which names.
struct ExportName {
    ParamId param = kNoParam;
    std::string name;
};

/// In the order of the model's state dict. Of tied parameters the owner, or the first alias that matches the
/// patterns when the owner does not. Usage for a pattern, prefix or rename that matches no name, and where
/// two parameters get the same name. Pure.
Result<std::vector<ExportName>> exportNames(const Checkpoint& source, const ExportOptions& options);

} // namespace shardscope
