// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

#include <string>
#include <vector>

namespace shardscope {

/// One file of a rewritten checkpoint: enough to compose it again at any time.
struct TargetFile {
    enum class Kind : uint8_t { Model, Optim, SlimModel, State, Step, Copied, Carried };
    Kind kind = Kind::Model;
    uint32_t rank = 0; ///< native targets
    uint32_t unit = 0; ///< State, Step: of the target; Copied: index into ReshardContext::copied
    uint32_t param = 0; ///< position in the unit's parameters
    uint32_t state = 0; ///< State: index into the unit's states
    uint32_t carried = 0; ///< Carried: index into ReshardContext::carried
};

/// All files of the target in the order in which they are planned: model files, optimizer files, those of
/// layers and experts, then the folders of the parameters, then what is copied next to the target.
std::vector<TargetFile> targetFiles(const ReshardContext& context);
/// Relative to the target's folder.
std::string nameOf(const ReshardContext& context, const TargetFile& file);
Result<OutputFile> compose(const std::shared_ptr<const ReshardContext>& context, const TargetFile& file);
/// Whether all files of this kind but the first rank's are of one size when their names are of one length.
bool areAlike(const ReshardContext& context, TargetFile::Kind kind);

} // namespace shardscope
