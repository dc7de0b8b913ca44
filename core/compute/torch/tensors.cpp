// SPDX-License-Identifier: Apache-2.0
#include "core/compute/torch/tensors.h"

namespace shardscope::compute {

std::optional<at::ScalarType> torchType(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
        return at::kDouble;
    case DType::Float32:
        return at::kFloat;
    case DType::Float16:
        return at::kHalf;
    case DType::BFloat16:
        return at::kBFloat16;
    case DType::Int64:
        return at::kLong;
    case DType::Int32:
        return at::kInt;
    case DType::Int16:
        return at::kShort;
    case DType::Int8:
        return at::kChar;
    case DType::UInt8:
        return at::kByte;
#if SHARDSCOPE_TORCH_AT_LEAST(2, 2)
    case DType::Float8E4M3:
        return at::ScalarType::Float8_e4m3fn;
    case DType::Float8E5M2:
        return at::ScalarType::Float8_e5m2;
#endif
    default:
        return std::nullopt;
    }
}

} // namespace shardscope::compute
