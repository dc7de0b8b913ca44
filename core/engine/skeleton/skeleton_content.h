// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/skeleton/client_values.h"
#include "core/io/file_system.h"
#include "core/torchfile/zip/kept_bytes.h"

#include <set>
#include <string>

namespace shardscope {

/// The parts of one torch file kept in a skeleton, and the client's keys in it.
struct SkeletonContent {
    KeptBytes kept;
    std::set<std::string> redactedKeys;
    std::set<std::string> keptKeys;
};

/// A torch file without its values, everything at its place: headers, directory, the small records that torch
/// writes, and the pickle with the client's values overwritten (client_values.h). The only storages are those
/// of the optimizer's step, which is one number and needed by many checks. No records that torch does not
/// write, and no data between records. Checksums of changed records are updated; those of storages below 64
/// bytes are blanked, because the checksum of a few bytes reveals them.
///
/// Memory: the pickle, its graph and the headers. Errors of TorchFile::open(); Unsupported for files without
/// parts that can be kept in place, for example with compressed records.
Result<SkeletonContent> skeletonContent(io::FileSystem& files, const io::Path& path, PickleForm form,
    const std::set<std::string>& keep, JobContext& job);

} // namespace shardscope
