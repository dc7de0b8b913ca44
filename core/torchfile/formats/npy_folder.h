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
/// The form is our own, for the files cannot say it: names of tensors are no names of files, and NumPy lacks
/// some dtypes. `tensors` are the weights; `states` is left out where there are none.
inline constexpr std::string_view kNpyIndexName = "index.json";
/// The state of the weights.
inline constexpr std::string_view kNpyWeights = "weight";

/// One tensor of such a folder.
struct NpyTensor {
    std::string state; ///< kNpyWeights, or the name of a state
    std::string file; ///< relative to the folder
    SafeTensor tensor; ///< read from the folder: with its place in the file
};

/// The text of the index: JSON with sorted keys, indented by two, ASCII alone, ending in a newline. Names and
/// states are UTF-8; of a tensor, name, dtype and shape count.
std::string npyIndexText(std::span<const NpyTensor> tensors);

/// The names of files for tensors and states, in their order: what a file system may take otherwise than it
/// is meant is spelled `%HH`, byte by byte, so that `percentDecode` gives the name back; letters, digits and
/// `_ - .` stay, but for a dot in front. A name longer than `mostBytes`, or that differs from an earlier one
/// in the case of letters alone, is cut and ends in `~` and 16 hex digits of its SHA-256; the index alone
/// leads from that to the tensor.
std::vector<std::string> npyFileNames(const std::vector<std::string>& names, size_t mostBytes = 240);

/// All tensors of a folder, by its index and the files' own headers, in the order of the index. NotFound for
/// a missing file; Damaged for an index that is none and for a file that is not what the index says; Hostile
/// where it leads out of the folder. No elements are read.
Result<std::vector<NpyTensor>> readNpyFolder(io::FileSystem& files, const io::Path& folder, JobContext& job);

} // namespace shardscope
