// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/verify_output.h"

namespace shardscope {

/// The hooks for plans whose outcome is tensors in files of other tools (ExportPlan). The second opinion is
/// the headers of the written files, read again: every planned tensor must be there once, with its name,
/// dtype and shape, in a file of its state, and nothing beside them; an index must lead to the file that has
/// the tensor. There is no fingerprint.
ExecuteHooks exportHooks();

} // namespace shardscope
