// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/checkpoint/model/checkpoint.h"

namespace shardscope {

/// Whether a distributed checkpoint of PyTorch records everything that DeepSpeed's own files need: those that
/// Shardscope writes do (core/checkpoint/dcp/dcp_native.h), those of other programs do not. Success for all
/// other kinds. Refused, naming everything that is not there.
Status requireNativeFacts(const Checkpoint& source);

} // namespace shardscope
