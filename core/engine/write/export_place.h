// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <string>

namespace shardscope {

/// The target of an export: DST itself, by its name and the folder that it lies in.
struct ExportPlace {
    io::Path folder;
    std::string name;
};

/// A link to a folder is what it leads to. Usage where DST can have no name, as `/` has none.
Result<ExportPlace> exportPlace(io::FileSystem& files, const io::Path& destination);

} // namespace shardscope
