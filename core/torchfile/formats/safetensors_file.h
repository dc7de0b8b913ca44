// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// One tensor of a safetensors file. Bytes from the start of the file; inside it, and of the size that dtype
/// and shape give.
struct SafeTensor {
    std::string name;
    DType dtype = DType::Unknown;
    Shape shape;
    uint64_t elements = 0;
    uint64_t byteOffset = 0;
    uint64_t bytes = 0;
};

/// The header of a safetensors file (huggingface/safetensors, safetensors/src/tensor.rs): 8 bytes of its
/// length, a JSON object, then the tensors back to back.
struct SafetensorsHeader {
    io::FileIdentity identity;
    std::vector<SafeTensor> tensors; ///< ascending by offset
};

/// The name of a dtype in a header: "BF16"; empty for dtypes that the format does not have.
std::string_view safetensorsTypeName(DType dtype);

/// Damaged for an invalid header; Hostile for one with tensors that overlap, leave gaps, are outside the file
/// or have impossible sizes; Unsupported for dtypes below a byte; LimitExceeded above 100 MB of header, 2
/// million tensors or 64 dimensions. Memory: the header's text and its tensors.
Result<SafetensorsHeader> readSafetensors(io::FileSystem& files, const io::Path& path, JobContext& job);

/// The same of a header's text and the bytes that follow it; `dataBegin` is where they begin.
Result<SafetensorsHeader> parseSafetensors(
    std::string_view text, uint64_t dataBegin, uint64_t dataBytes, const std::string& path);

} // namespace shardscope
