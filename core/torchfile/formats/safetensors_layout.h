// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardscope {

/// A tensor that will be written to a safetensors file.
struct SafetensorsSpec {
    std::string name;
    DType dtype = DType::Float32;
    Shape shape;
};

/// Everything of a safetensors file except its elements, byte for byte as the reference writer makes it
/// (huggingface/safetensors, tensor.rs, prepare() and serialize()): tensors by descending alignment of their
/// dtype, then by name, back to back; the header padded with spaces to a multiple of 8 bytes.
struct SafetensorsLayout {
    std::string header; ///< with the 8 bytes of its length
    std::vector<uint32_t> order; ///< of the given tensors, as they follow the header
    uint64_t totalBytes = 0; ///< of the file

    /// `metadata`: the content of `__metadata__`. Unsupported for dtypes that the format does not have, and
    /// for names that are not UTF-8 or are reserved; LimitExceeded for a header above 100 MB. Pure.
    static Result<SafetensorsLayout> make(
        const std::vector<SafetensorsSpec>& tensors, const std::map<std::string, std::string>& metadata);
};

} // namespace shardscope
