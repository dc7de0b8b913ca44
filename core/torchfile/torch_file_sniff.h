// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace shardscope {

/// What the first bytes of a file say it is. torch.load checks four bytes and unpickles everything that is
/// not a zip file; this is a positive match for each kind instead.
struct FileKind {
    std::string_view name; ///< "a 7z archive"; empty when the bytes are like nothing known
    bool torchZip = false; ///< begins as torch's zip files do
    ErrorCode refusal = ErrorCode::NotACheckpoint; ///< Unsupported for what torch or others store tensors in
    std::string_view hint;
};

inline constexpr uint64_t kSniffBytes = 512;
/// `head` is the beginning of the file, kSniffBytes of it where it is that long; `fileBytes` its size.
[[nodiscard]] FileKind sniffFile(std::span<const uint8_t> head, uint64_t fileBytes);

} // namespace shardscope
