// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/reading.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"

namespace shardscope {

namespace {

struct Loaded {
    std::shared_ptr<const TorchFile> content;
    std::optional<Error> error;
};

Loaded openOne(const Reading& reading, const io::Path& path)
{
    auto opened = TorchFile::open(reading.files, path, ReadMode::Tolerant, reading.job);
    if (!opened)
        return {nullptr, std::move(opened).error()};
    return {std::move(*opened), std::nullopt};
}

std::string_view findingCodeOf(ErrorCode error)
{
    switch (error) {
    case ErrorCode::Hostile:
    case ErrorCode::LimitExceeded:
        return code::kFileHostile;
    case ErrorCode::Damaged:
    case ErrorCode::NotACheckpoint:
        return code::kFileTorn;
    default:
        return code::kFileUnreadable;
    }
}

/// Puts the outcome into the file's entry; true when it is readable.
bool settle(const Reading& reading, FileId id, Loaded loaded)
{
    CheckpointFile& file = reading.out.files[index(id)];
    if (loaded.error) {
        file.status = FileStatus::Damaged;
        if (loaded.error->code == ErrorCode::Unsupported)
            reading.refuse(loaded.error->message);
        else
            reading.add(findingCodeOf(loaded.error->code), Severity::Error, "the file cannot be read",
                file.name, {describe(*loaded.error)});
        return false;
    }
    file.content = std::move(loaded.content);
    file.identity = file.content->identity();
    file.recordCount = file.content->zip().records().size();
    file.status = FileStatus::Ok;
    for (Finding finding : file.content->findings()) {
        finding.where = finding.where.empty() ? file.name : file.name + "!" + finding.where;
        if (finding.severity == Severity::Error)
            file.status = FileStatus::Damaged;
        reading.out.findings.push_back(std::move(finding));
    }
    if (file.content->isBigEndian())
        reading.refuse("`" + file.name + "` was written on a big-endian machine");
    return true;
}

} // namespace

bool loadFile(const Reading& reading, FileId id)
{
    const CheckpointFile& file = reading.out.file(id);
    if (file.status == FileStatus::Missing || file.content)
        return file.content != nullptr;
    return settle(reading, id, openOne(reading, file.path));
}

Status loadFiles(const Reading& reading, const std::vector<FileId>& ids)
{
    std::vector<Loaded> loaded(ids.size());
    SHARDSCOPE_CHECK(parallelFor(ids.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        const CheckpointFile& file = reading.out.file(ids[i]);
        if (file.status != FileStatus::Missing && !file.content)
            loaded[i] = openOne(reading, file.path);
        return {};
    }));
    for (size_t i = 0; i < ids.size(); ++i) {
        if (loaded[i].content || loaded[i].error)
            settle(reading, ids[i], std::move(loaded[i]));
    }
    return {};
}

} // namespace shardscope
