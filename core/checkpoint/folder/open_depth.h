// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardscope {

/// How much of a checkpoint is read when it is opened.
enum class OpenDepth {
    Structure, ///< rank 0's files, names and sizes of the others: a quick first view; other ranks are "not
               ///< yet read"
    Full, ///< every file's directory and pickle; payloads are never read
};

} // namespace shardscope
