// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/naming/nameless_groups.h"

namespace shardscope {

/// What expert files hold of the experts that the first expert-parallel rank has, in the order in which a
/// model lists them: by layer, number, and place in the file. Loads those files. Empty where there are none.
std::vector<ModuleTensor> firstFamilyExperts(Reading& reading, const std::vector<NamelessGroup>& groups);

} // namespace shardscope
