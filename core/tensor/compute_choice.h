// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/compute_backend.h"

#include <memory>
#include <string>

namespace shardscope {

/// A backend and why it is this one, in words for reports. Copies share the backend.
struct ComputeChoice {
    /// The plain backend; nothing was to be chosen.
    ComputeChoice();

    std::shared_ptr<const ComputeBackend> backend; ///< never null
    std::string reason; ///< "LibTorch is not faster here"; empty where nothing was chosen
};

} // namespace shardscope
