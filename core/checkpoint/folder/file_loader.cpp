// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/file_loader.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/zero_paddings.h"

#include <utility>

namespace shardscope {

namespace {

using Loaded = Reading::Loaded;

Loaded openOne(Reading& reading, const CheckpointFile& file)
{
    const bool isTemplate = !file.rank || file.rank->dp == 0; // a plan's template: kept whole
    const auto reduce = file.role == FileRole::OptimStates && !isTemplate ? withoutZeroPaddings : nullptr;
    auto opened = TorchFile::open(
        reading.files, file.path, ReadMode::Tolerant, reading.job, &reading.pickles, reduce);
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

/// Stores the outcome in the file's entry. True if the file is readable.
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
        finding.where
            = finding.where.isEmpty() ? Place(file.name) : RecordPlace{file.name, finding.where.file()};
        if (finding.severity == Severity::Error)
            file.status = FileStatus::Damaged;
        reading.out.findings.push_back(std::move(finding));
    }
    if (file.content->isBigEndian())
        reading.refuse("`" + file.name + "` was written on a big-endian machine");
    return true;
}

/// The content that was read ahead for a file. Nothing if it was not read ahead, or was already taken.
Loaded takePrefetched(Reading& reading, FileId id)
{
    return index(id) < reading.prefetched.size() ? std::exchange(reading.prefetched[index(id)], {})
                                                 : Loaded();
}

} // namespace

Status prefetchFiles(Reading& reading, const std::vector<FileId>& ids)
{
    reading.prefetched.resize(reading.out.files.size());
    return parallelFor(ids.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        reading.prefetched[index(ids[i])] = openOne(reading, reading.out.file(ids[i]));
        return {};
    });
}

bool loadFile(Reading& reading, FileId id)
{
    const CheckpointFile& file = reading.out.file(id);
    if (file.status == FileStatus::Missing || file.content)
        return file.content != nullptr;
    Loaded loaded = takePrefetched(reading, id);
    return settle(reading, id, loaded.isThere() ? std::move(loaded) : openOne(reading, file));
}

Status loadFiles(Reading& reading, const std::vector<FileId>& ids)
{
    std::vector<Loaded> loaded(ids.size());
    for (size_t i = 0; i < ids.size(); ++i)
        loaded[i] = takePrefetched(reading, ids[i]);
    SHARDSCOPE_CHECK(parallelFor(ids.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        const CheckpointFile& file = reading.out.file(ids[i]);
        if (!loaded[i].isThere() && file.status != FileStatus::Missing && !file.content)
            loaded[i] = openOne(reading, file);
        return {};
    }));
    for (size_t i = 0; i < ids.size(); ++i) {
        if (loaded[i].isThere())
            settle(reading, ids[i], std::move(loaded[i]));
    }
    return {};
}

} // namespace shardscope
