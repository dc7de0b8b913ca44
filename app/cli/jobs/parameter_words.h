// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/address.h"

#include <string>
#include <vector>

/// Looks up names from the command line in a checkpoint. An unknown name is a Usage error that suggests the
/// nearest one.
namespace shardscope::cli {

std::vector<std::string> parameterNames(const Checkpoint& checkpoint);
Result<ParamId> paramAsked(const Checkpoint& checkpoint, const std::string& name);
/// Success when the parameter has the state.
Status checkState(const Checkpoint& checkpoint, ParamId param, const std::string& state);
/// parseAddress(); the parameter and the state in it exist.
Result<Address> addressAsked(const Checkpoint& checkpoint, const std::string& text);

} // namespace shardscope::cli
