// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <ATen/ATen.h>
#include <torch/version.h>

#include <cstdint>
#include <optional>
#include <span>

#define SHARDSCOPE_TORCH_AT_LEAST(major, minor)                                                              \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace shardscope::compute {

/// The torch dtype that LibTorch uses for these computations. Nothing for dtypes that some version from 1.13
/// on does not know, and for bool, because its bytes may differ from 0 and 1.
std::optional<at::ScalarType> torchType(DType dtype);

/// A tensor over memory of others, which outlives it.
inline at::Tensor over(std::span<const uint8_t> bytes, DType dtype, at::ScalarType type)
{
    return at::from_blob(const_cast<uint8_t*>(bytes.data()), // no one writes to those that are read
        {static_cast<int64_t>(bytes.size() / itemSize(dtype))}, at::TensorOptions().dtype(type));
}

/// Elements per block, so that intermediate tensors stay small.
constexpr size_t kBlockElements = size_t{1} << 18;

} // namespace shardscope::compute
