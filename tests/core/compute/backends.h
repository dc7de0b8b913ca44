// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/compute_modules.h"

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace shardscope::test {

using BackendPtr = std::shared_ptr<const ComputeBackend>;

/// The backends of modules that can be used on this machine, and the GPU that the host simulates; reports on
/// stderr what is left out and why.
const std::vector<BackendPtr>& moduleBackends();
/// Whether this build has the module, so that it must load.
bool wasBuilt(const std::string& module);

template <class T>
std::span<const uint8_t> bytesOf(const std::vector<T>& values)
{
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

/// All float dtypes that every backend has.
inline constexpr DType kFloats[]{
    DType::Float64, DType::Float32, DType::Float16, DType::BFloat16, DType::Float8E4M3, DType::Float8E5M2};
inline constexpr DType kIntegers[]{DType::Int64, DType::Int32, DType::Int16, DType::Int8, DType::UInt8,
    DType::Bool, DType::UInt16, DType::UInt32, DType::UInt64};

/// Elements of a dtype: all patterns if there are few, otherwise random bits with every special value among
/// them.
std::vector<uint8_t> patterns(DType dtype, std::mt19937_64& random);
/// Elements as in training: normally distributed, in that dtype.
std::vector<uint8_t> normalElements(DType dtype, size_t count, std::mt19937_64& random);

} // namespace shardscope::test
