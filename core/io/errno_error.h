// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "core/io/file_system.h"

#include <string>

namespace shardscope::io {

/// The Error that `errnoValue` becomes for a read or a write call on `path`; `what` says what was tried. One
/// of reading that has another reason than the path is an outage (outage_watch.h).
Error errorFromErrno(int errnoValue, bool writing, std::string what, const Path& path);

} // namespace shardscope::io
