// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/client_values.h"
#include "core/torchfile/zip/kept_bytes.h"

#include "core/base/job_context.h"
#include "core/io/file_system.h"

#include <set>
#include <string>

namespace shardscope {

/// What a skeleton keeps of one torch file, and what became of the client's keys in it.
struct SkeletonContent {
    KeptBytes kept;
    std::set<std::string> redactedKeys;
    std::set<std::string> keptKeys;
};

/// Everything of a torch file but its values, in its places: headers, directory, the small records that torch
/// writes, and the pickle with the client's values overwritten (client_values.h). No storage but those of the
/// optimizer's step, which is one number and is missed by much that is found out about it; no record
/// that torch does not write, nothing that lies between records. Checksums of what changed are made right;
/// those of storages of under 64 bytes are blanked, since a checksum of a few bytes tells them.
///
/// Memory: the pickle, its graph and the headers. Errors as TorchFile::open()'s, Unsupported for files of
/// which nothing can be kept in its place, as of compressed records.
Result<SkeletonContent> skeletonContent(io::FileSystem& files, const io::Path& path, PickleForm form,
    const std::set<std::string>& keep, JobContext& job);

} // namespace shardscope
