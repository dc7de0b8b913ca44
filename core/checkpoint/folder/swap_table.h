// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string_view>
#include <vector>

namespace shardscope {

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
