// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"

#include <string>
#include <vector>

namespace shardscope::far {

/// The names of hosts in a configuration file of ssh (ssh_config(5)) and in those that it includes, in their
/// order, each once: for somebody who chooses one. Patterns, and names that far paths cannot have, are left
/// out, as is what cannot be read. `Include` takes paths, not patterns other than a last part with `*`.
std::vector<std::string> hostsInSshConfig(io::FileSystem& files, const io::Path& config);

} // namespace shardscope::far
