// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify.h"

namespace shardscope {

/// Reads files that the manifest lists in the tag folder or next to it ("../NAME") and reports those that
/// differ from it. Other files there are ignored.
Status verifyOthers(io::FileSystem& files, const Checkpoint& checkpoint, const Manifest& manifest,
    const std::vector<std::string>& names, VerifyReport& report, JobContext& job);

/// The same for an export's folder, which contains all of its files.
Status verifyExported(io::FileSystem& files, const io::Path& folder, const Manifest& manifest,
    VerifyReport& report, JobContext& job);

} // namespace shardscope
