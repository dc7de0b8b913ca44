// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"

#include <string_view>
#include <vector>

namespace shardscope {

/// The folder inside a tag that holds copies of swap files (swap.h).
inline constexpr std::string_view kOffloadedTensors = "offloaded_tensors";

/// Adds the files of `folder`, an offloaded_tensors folder. `ranks`: those whose optimizer files lie beside
/// it, ascending. A folder without rank levels is the only rank's, or nobody's.
void addOffloadedTensors(Reading& reading, const io::Path& folder, const std::vector<uint32_t>& ranks);
/// Whether `folder` is what a run swaps into: NVME_PATH, its zero_stage_3, or that one's optimizer folder.
bool isSwapFolder(const Reading& reading, const io::Path& folder);
/// Adds the files of those roots that are swap folders; whether there are any.
bool addNamedSwapFolders(Reading& reading);
/// Adds the files of a swap folder beside the checkpoint's tag.
void addSwapFolderBeside(Reading& reading);

} // namespace shardscope
