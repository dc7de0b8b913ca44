// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/cuda/gpu.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardscope::compute {

/// The GPUs that CUDA finds, or the one with that number. Unsupported, in words that begin with "no ", where
/// there is no driver, no GPU, or none of that number.
Result<std::vector<std::unique_ptr<Gpu>>> findGpus(std::optional<uint32_t> number);

} // namespace shardscope::compute
