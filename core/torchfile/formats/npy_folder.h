// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/torchfile/formats/safetensors_file.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A folder of NumPy files, one per tensor, and `index.json`, which says what they are:
///
///     {"states": {"exp_avg": {NAME: …}}, "tensors": {NAME: {"dtype": "bfloat16", "file": …, "shape": […]}}}
///
/// The form is our own, because the files cannot record it: names of tensors are not names of files, and
/// NumPy does not have some dtypes. `tensors` are the weights; `states` is omitted where there are none.
inline constexpr std::string_view kNpyIndexName = "index.json";
/// The state of the weights.
inline constexpr std::string_view kNpyWeights = "weight";

/// One tensor of such a folder.
struct NpyTensor {
    std::string state; ///< kNpyWeights, or the name of a state
    std::string file; ///< relative to the folder
    SafeTensor tensor; ///< read from the folder: with its place in the file
};

/// The text of the index: JSON with sorted keys, indented by two, ASCII only, ending in a newline. Names and
/// states are UTF-8; of a tensor, name, dtype and shape count.
std::string npyIndexText(std::span<const NpyTensor> tensors);

/// The names of files for tensors and states, in their order: letters, digits and `_ - .` stay, except a
/// leading dot; other bytes, which a file system may change, are spelled `%HH`, so that `percentDecode`
/// restores the name. A name longer than `maxBytes`, or that differs from an earlier one only in the case of
/// letters, is truncated and ends in `~` and 16 hex digits of its SHA-256; then only the index maps it to the
/// tensor.
std::vector<std::string> npyFileNames(const std::vector<std::string>& names, size_t maxBytes = 240);

/// All tensors of a folder, by its index and the files' own headers, in the order of the index. NotFound for
/// a missing file; Damaged for an invalid index and for a file that differs from the index; Hostile where it
/// points outside the folder. No elements are read.
Result<std::vector<NpyTensor>> readNpyFolder(io::FileSystem& files, const io::Path& folder, JobContext& job);

} // namespace shardscope
