// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/discover.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The folders, relative to `folder`, that are one distributed checkpoint of PyTorch: the folder itself (""),
/// or weights and optimizer below it, as Accelerate (`pytorch_model_fsdp_0`, `optimizer_0`) and NeMo
/// Automodel
/// (`model`, `optim`) save them. Empty if there is none. Unsupported, by name, for several models.
Result<std::vector<std::string>> distributedFolders(io::FileSystem& files, const io::Path& folder);

/// A distributed checkpoint that is the folder, or one step of a run (`step-100`, `checkpoint-100`) below it:
/// the one that `tag` names, else the newest, with a finding if a newer one is unfinished. Nothing if there
/// is none.
Result<std::optional<Discovery>> discoverDistributed(
    io::FileSystem& files, const io::Path& path, const std::string& tag);

} // namespace shardscope
