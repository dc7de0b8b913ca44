// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Where tests find the source tree and the built program. One file knows both, so that a compiler cache
/// serves checkouts in different folders.
namespace shardscope {

/// The root of the source tree, absolute.
std::string sourceFolder();

/// The built command line program, absolute; empty where it is not part of the build.
std::string programPath();

/// The built window, absolute; empty in a build without it.
std::string windowPath();

} // namespace shardscope
