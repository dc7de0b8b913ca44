// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/verify_output.h"

namespace shardscope {

/// The hooks for plans that write tensors in files of other tools (WritePlan). Verification reads the
/// headers of the written files again. Every planned tensor must be there once, with its name, dtype and
/// shape, in a file of its state. Other tensors are errors. An index must list the file that has the tensor.
/// There is no fingerprint.
ExecuteHooks exportHooks();

} // namespace shardscope
