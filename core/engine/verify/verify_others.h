// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/stream/manifest_reader.h"
#include "core/engine/verify/verify.h"

namespace shardscope {

/// What the steps of one verification share.
struct VerifyRun {
    io::FileSystem& files;
    VerifyReport& report;
    JobContext& job;
};

/// Reads a file, and gives its size and digest.
Result<ManifestFile> readManifestFile(
    io::FileSystem& files, const io::Path& path, io::DigestKind kind, JobContext& job);

/// Reads files that the manifest lists in the tag folder or next to it ("../NAME") and reports those that
/// differ from it. Other files there are ignored.
Status verifyOthers(const VerifyRun& run, const Checkpoint& checkpoint, const Manifest& manifest,
    const std::vector<std::string>& names);

/// The same for an export's folder, which contains all of its files.
Status verifyExported(const VerifyRun& run, const io::Path& folder, const Manifest& manifest);

} // namespace shardscope
