// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/naming/nameless_groups.h"

namespace shardscope {

/// The tensors in expert files that belong to the first expert-parallel rank. The order is that of a model:
/// by layer, number, and place in the file. Loads those files. Empty if there are none.
std::vector<ModuleTensor> firstFamilyExperts(Reading& reading, const std::vector<NamelessGroup>& groups);

} // namespace shardscope
