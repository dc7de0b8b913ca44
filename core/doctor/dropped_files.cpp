// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/dropped_files.h"

#include "core/torchfile/torch_files.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace shardscope {

namespace {

/// Whether the reader counted the records of the file but did not keep its content.
bool isDropped(const CheckpointFile& file)
{
    return file.recordCount > 0 && file.content == nullptr && file.status != FileStatus::Stale;
}

class DroppedFiles
{
public:
    DroppedFiles(io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit)
        : m_files(files)
        , m_job(job)
        , m_visit(visit)
    {
    }

    Status visit(const Checkpoint& part)
    {
        if (!partitionsParameters(part.kind))
            return {};
        m_last.reset(); // a pickle means something else in another part
        std::vector<FileId> dropped;
        std::copy_if(part.modelFiles.begin(), part.modelFiles.end(), std::back_inserter(dropped),
            [&](FileId id) { return id != kNoFile && isDropped(part.file(id)); });
        std::vector<uint64_t> bytes;
        for (const FileId id : dropped)
            bytes.push_back(part.file(id).identity.bytes);
        for (size_t begin = 0; begin < dropped.size();) {
            const size_t count = filesToOpenTogether(std::span(bytes).subspan(begin));
            SHARDSCOPE_CHECK(visitSome(part, std::span(dropped).subspan(begin, count)));
            begin += count;
        }
        return {};
    }

private:
    Status visitSome(const Checkpoint& part, std::span<const FileId> ids)
    {
        std::vector<TorchFileRequest> requests;
        for (const FileId id : ids)
            requests.push_back({part.file(id).path});
        SHARDSCOPE_TRY(auto opened, openTorchFiles(m_files, requests, m_job, m_shared));
        for (size_t i = 0; i < ids.size(); ++i) {
            SHARDSCOPE_CHECK(m_job.poll());
            SHARDSCOPE_TRY(std::shared_ptr<const TorchFile> content, std::move(opened[i]));
            const bool repeats = m_last && &m_last->pickle() == &content->pickle();
            m_visit({part, part.file(ids[i]), *content, repeats});
            m_last = std::move(content);
        }
        return {};
    }

    io::FileSystem& m_files;
    JobContext& m_job;
    const DroppedFileVisitor& m_visit;
    SharedFiles m_shared;
    std::shared_ptr<const TorchFile> m_last;
};

} // namespace

Status forEachDroppedFile(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, const DroppedFileVisitor& visit)
{
    DroppedFiles dropped(files, job, visit);
    if (checkpoint.parts.empty())
        return dropped.visit(checkpoint);
    for (const auto& part : checkpoint.parts)
        SHARDSCOPE_CHECK(dropped.visit(*part));
    return {};
}

} // namespace shardscope
