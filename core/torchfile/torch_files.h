// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/torch_file.h"

#include <span>
#include <vector>

namespace shardscope {

/// One of several files to open; `reduce` as in TorchFile::open().
struct TorchFileRequest {
    io::Path path;
    SharedPickles::Reduce reduce = nullptr;
};

/// Opens many files, each with the result of TorchFile::open() in Tolerant mode, in the order of `requests`.
///
/// What is small of the files is read together, so that the number of rounds that wait for the file system
/// does not grow with the number of files: 1,000 files take about ten. Then they are interpreted on all
/// cores, in the order of `requests`. Holds at most 128 MiB of the files' bytes at a time, and what their
/// headers are parsed into. The only error is Cancelled.
Result<std::vector<Result<std::shared_ptr<const TorchFile>>>> openTorchFiles(
    io::FileSystem& files, std::span<const TorchFileRequest> requests, JobContext& job, SharedFiles& shared);

/// How many of the first files of a list to open together, at least one if there is any: many where they are
/// small, so that the file system is waited for once; a few per core where they are large, because each is
/// parsed into several times its size. `bytes`: their sizes.
[[nodiscard]] size_t filesToOpenTogether(std::span<const uint64_t> bytes);

} // namespace shardscope
