// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/tensor: element types, shapes, and arithmetic on elements in memory: conversion, statistics,
// comparison, digests; it does not know what a checkpoint is. Start with DType, then the operation that you
// need.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope {

/// Element types that torch.save can write. Source: torch/_utils.py, torch/storage.py (storage classes and
/// _rebuild_tensor_v3), c10 ScalarType.
enum class DType : uint8_t {
    Unknown, ///< a dtype this build does not know: bytes are kept, values are not shown
    Float64,
    Float32,
    Float16,
    BFloat16,
    Int64,
    Int32,
    Int16,
    Int8,
    UInt8,
    Bool,
    UInt16,
    UInt32,
    UInt64,
    Complex32,
    Complex64,
    Complex128,
    Float8E5M2,
    Float8E4M3,
    Float8E5M2Fnuz,
    Float8E4M3Fnuz,
    Float8E8M0,
};

/// Bytes of one element; 1 for Unknown.
uint32_t itemSize(DType dtype);
/// "float32", "bfloat16", … as torch prints it without the "torch." prefix; "unknown".
std::string_view dtypeName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view torchName);
/// The dtype of a storage class such as "FloatStorage" or "BFloat16Storage"; UntypedStorage is UInt8.
std::optional<DType> dtypeFromStorageClass(std::string_view className);
/// "FloatStorage" for Float32; empty for dtypes that torch writes as UntypedStorage with _rebuild_tensor_v3.
std::string_view storageClassOf(DType dtype);
[[nodiscard]] bool isFloatingPoint(DType dtype);
/// One element as a number (the real part of complex ones); `bytes` holds itemSize(dtype) little-endian
/// bytes.
double elementAsDouble(DType dtype, const uint8_t* bytes);
/// One element in the shortest text that gives the same value back; "nan", "inf", "-inf"; "True"/"False" for
/// Bool.
std::string elementAsText(DType dtype, const uint8_t* bytes);

} // namespace shardscope
