// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>

namespace shardscope {

/// The target of an export: DST itself, by its name and its parent folder.
struct ExportPlace {
    io::Path folder;
    std::string name;
};

/// Follows a link to a folder. Usage if DST has no name, for example `/`.
Result<ExportPlace> exportPlace(io::FileSystem& files, const io::Path& destination);

} // namespace shardscope
