// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <string>
#include <vector>

namespace shardscope::bench {

struct Summary {
    double median = 0;
    double min = 0;
    double max = 0;
};
/// Of one or more figures.
Summary summarise(std::vector<double> figures);

/// What may explain a figure: processors, load of the last minute, memory, and when.
std::string machineState();
/// Bytes of all regular files below a folder.
uint64_t bytesBelow(const io::Path& folder);
/// Asks the kernel to forget the contents of all files below a folder, once they are on disk: the next read
/// comes from the disk.
void forgetContents(const io::Path& folder);

} // namespace shardscope::bench
