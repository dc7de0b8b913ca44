// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/plan/model/write_plan.h"

#include <functional>
#include <string>
#include <vector>

namespace shardscope {

/// Files below a folder, relative to it, in byte order. `isWanted` gets path and type; if empty, all files.
Result<std::vector<std::string>> filesBelow(io::FileSystem& files, const io::Path& root,
    const std::function<bool(const std::string& path, io::FileType type)>& isWanted = {});

/// Files of the target, relative to it, that --force replaces or removes: for a tag, all files in its folder
/// and those next to it ("../NAME"). In byte order.
Result<std::vector<std::string>> replacedFiles(
    io::FileSystem& files, const WritePlan& plan, const io::Path& destination);
} // namespace shardscope
