// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify.h"

namespace shardscope {

/// Reads files that the manifest names in the tag folder or beside it ("../NAME") and adds to the report what
/// is not as it promises. Files there that it does not name are nobody's business.
Status verifyOthers(io::FileSystem& files, const Checkpoint& checkpoint, const Manifest& manifest,
    const std::vector<std::string>& names, VerifyReport& report, JobContext& job);

/// The same for every file of an export's folder, all of which lie in it.
Status verifyExported(io::FileSystem& files, const io::Path& folder, const Manifest& manifest,
    VerifyReport& report, JobContext& job);

} // namespace shardscope
