// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The parts of a swap file's name: "0_7.tensor.swp" (masters), "exp_avg-0_7.tensor.swp",
/// "0_7_gradient_0_550400.tensor.swp". Source: runtime/swap_tensor/optimizer_utils.py, SwapTensorContext and
/// OptimizerStateSwapInfo.
struct SwapFileName {
    std::string_view state; ///< "fp32" for masters
    std::string_view id; ///< the sub-group's: decimal numbers joined by '_'
    bool gradient = false; ///< of an unfinished step; not part of the training state
};

/// Nothing if DeepSpeed gives no such name to an optimizer's swap file. The views point into `name`.
std::optional<SwapFileName> parseSwapFileName(std::string_view name);
/// "exp_avg-0_7.tensor.swp"
std::string swapFileName(std::string_view state, std::string_view id);

/// The numbers in a sub-group's id. Since 0.13.3: the first and last parameter ("5_5" for a single one). In
/// 0.13.0 to 0.13.2: all parameters. Before: an address. Empty if a number does not fit 64 bits.
std::vector<uint64_t> swapIdNumbers(std::string_view id);

/// The folder inside a tag that holds copies of swap files (swap.h).
inline constexpr std::string_view kOffloadedTensors = "offloaded_tensors";

/// Adds the files of `folder`, an offloaded_tensors folder. `ranks`: the ranks with optimizer files next to
/// it, ascending. A folder without rank levels belongs to the only rank. If there are several ranks, it
/// belongs to none.
void addOffloadedTensors(Reading& reading, const io::Path& folder, const std::vector<uint32_t>& ranks);
/// Whether `folder` is a place that a run swaps into: NVME_PATH, its zero_stage_3, or the optimizer folder in
/// that.
bool isSwapFolder(const Reading& reading, const io::Path& folder);
/// Adds the files of those roots that are swap folders. Returns whether there are any.
bool addNamedSwapFolders(Reading& reading);
/// Adds the files of a swap folder next to the checkpoint's tag.
void addSwapFolderNextToTag(Reading& reading);

} // namespace shardscope
