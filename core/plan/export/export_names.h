// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export.h"

namespace shardscope {

/// Which parameters of a checkpoint an export takes, and under which names.
struct ExportName {
    ParamId param = kNoParam;
    std::string name;
};

/// In the order of the model's state dict. Of tied parameters the owner, or the first alias that fits the
/// patterns where the owner does not. Usage for a pattern, prefix or rename that fits no name, and where two
/// parameters come to one name. Pure.
Result<std::vector<ExportName>> exportNames(const Checkpoint& source, const ExportOptions& options);

} // namespace shardscope
