// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// "<f4": NumPy's name of a dtype in a file; empty for dtypes that NumPy does not have.
std::string_view npyType(DType dtype);

/// The header of a NumPy file of version 1.0, magic included, as `numpy.save` writes it; a multiple of 64
/// bytes. Empty for a dtype that NumPy does not have. Format: NEP 1, numpy/lib/_format_impl.py.
std::string npyHeader(DType dtype, const Shape& shape);

/// The same for any dtype: those that NumPy does not have become `<V2`, elements of so many bytes without a
/// type, as `numpy.save` writes the bfloat16 of ml_dtypes. `numpy.load` reads them as such, not as numbers.
std::string npyRawHeader(DType dtype, const Shape& shape);

/// The most bytes that parseNpyHeader() needs to see of a file: 64 dimensions of 20 digits fit.
inline constexpr uint64_t kMaxNpyHeaderBytes = 4096;

/// The beginning of a NumPy file of C order.
struct NpyHeader {
    std::string type; ///< "<f4"
    Shape shape;
    uint64_t dataOffset = 0; ///< bytes from the start of the file
};

/// `head`: the file's first bytes, kMaxNpyHeaderBytes or all. Damaged for an invalid header; Unsupported for
/// Fortran order, for records, and for a header that is longer.
Result<NpyHeader> parseNpyHeader(std::string_view head, const std::string& path);

} // namespace shardscope
