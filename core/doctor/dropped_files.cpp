// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/dropped_files.h"

#include "core/base/parallel.h"
#include "core/torchfile/torch_file.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace shardscope {

namespace {

/// Whether the reader counted the records of the file but did not keep its content.
bool isDropped(const CheckpointFile& file)
{
    return file.recordCount > 0 && file.content == nullptr && file.status != FileStatus::Stale;
}

Status visitPart(
    const Checkpoint& part, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit)
{
    if (!partitionsParameters(part.kind))
        return {};
    std::vector<FileId> dropped;
    std::copy_if(part.modelFiles.begin(), part.modelFiles.end(), std::back_inserter(dropped),
        [&](FileId id) { return id != kNoFile && isDropped(part.file(id)); });
    const size_t batchSize = defaultJobs();
    std::vector<std::shared_ptr<const TorchFile>> opened(batchSize);
    for (size_t begin = 0; begin < dropped.size(); begin += batchSize) {
        const size_t count = std::min(batchSize, dropped.size() - begin);
        SHARDSCOPE_CHECK(parallelFor(count, defaultJobs(), job, [&](size_t i) -> Status {
            SHARDSCOPE_TRY(opened[i],
                TorchFile::open(files, part.file(dropped[begin + i]).path, ReadMode::Tolerant, job));
            return {};
        }));
        for (size_t i = 0; i < count; ++i) {
            visit(part, part.file(dropped[begin + i]), *opened[i]);
            opened[i].reset();
        }
    }
    return {};
}

} // namespace

Status forEachDroppedFile(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit)
{
    if (checkpoint.parts.empty())
        return visitPart(checkpoint, files, job, visit);
    for (const auto& part : checkpoint.parts)
        SHARDSCOPE_CHECK(visitPart(*part, files, job, visit));
    return {};
}

} // namespace shardscope
