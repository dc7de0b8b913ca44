// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/file_loader.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/zero_paddings.h"
#include "core/torchfile/torch_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace shardscope {

namespace {

using Loaded = Reading::Loaded;

/// Opens files that are not part of the checkpoint yet; the results in the order of `ids`.
Result<std::vector<Loaded>> openFiles(Reading& reading, const std::vector<FileId>& ids)
{
    std::vector<TorchFileRequest> requests;
    for (const FileId id : ids) {
        const CheckpointFile& file = reading.out.file(id);
        const bool isTemplate = !file.rank || file.rank->dp == 0; // a plan's template: kept whole
        const bool reduces = file.role == FileRole::OptimStates && !isTemplate;
        requests.push_back({file.path, reduces ? withoutZeroPaddings : nullptr});
    }
    SHARDSCOPE_TRY(auto opened, openTorchFiles(reading.files, requests, reading.job, reading.shared));
    std::vector<Loaded> out;
    for (auto& one : opened) {
        if (one)
            out.push_back({std::move(*one), std::nullopt});
        else
            out.push_back({nullptr, std::move(one).error()});
    }
    return out;
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

/// Reports why a file of the table cannot be read.
void reportUnreadable(const Reading& reading, const CheckpointFile& file, const Error& error)
{
    if (error.code == ErrorCode::NotACheckpoint) {
        const auto opened = reading.files.openRead(file.path);
        std::array<uint8_t, kSniffBytes> bytes{};
        const std::span<uint8_t> head(
            bytes.data(), opened ? std::min<uint64_t>((*opened)->size(), bytes.size()) : 0);
        if (opened && (*opened)->readAt(0, head)) {
            if (auto foreign = foreignFileFinding(file.name, sniffFile(head, (*opened)->size()))) {
                reading.out.findings.push_back(std::move(*foreign));
                return;
            }
        }
    }
    reading.add(
        findingCodeOf(error.code), Severity::Error, "the file cannot be read", file.name, {describe(error)});
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
            reportUnreadable(reading, file, *loaded.error);
        return false;
    }
    file.content = std::move(loaded.content);
    file.identity = file.content->identity();
    file.recordCount = file.content->zip().recordCount();
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

std::optional<Finding> foreignFileFinding(const std::string& name, const FileKind& kind)
{
    if (kind.torchZip || kind.name.empty() || kind.refusal != ErrorCode::NotACheckpoint)
        return std::nullopt; // torch's old pickles have no magic bytes
    std::vector<std::string> evidence;
    if (!kind.hint.empty())
        evidence.emplace_back(kind.hint);
    return Finding{code::kForeignFile, Severity::Error,
        "the file has the name of a state file but is " + std::string(kind.name), name, std::move(evidence)};
}

Status prefetchFiles(Reading& reading, const std::vector<FileId>& ids)
{
    reading.prefetched.resize(reading.out.files.size());
    SHARDSCOPE_TRY(std::vector<Loaded> opened, openFiles(reading, ids));
    for (size_t i = 0; i < ids.size(); ++i)
        reading.prefetched[index(ids[i])] = std::move(opened[i]);
    return {};
}

bool loadFile(Reading& reading, FileId id)
{
    const CheckpointFile& file = reading.out.file(id);
    if (file.status == FileStatus::Missing || file.content)
        return file.content != nullptr;
    Loaded loaded = takePrefetched(reading, id);
    if (loaded.isThere())
        return settle(reading, id, std::move(loaded));
    auto opened = openFiles(reading, {id});
    return settle(reading, id, opened ? std::move(opened->front()) : Loaded{nullptr, opened.error()});
}

Status loadFiles(Reading& reading, const std::vector<FileId>& ids)
{
    std::vector<FileId> wanted;
    std::vector<Loaded> loaded(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
        loaded[i] = takePrefetched(reading, ids[i]);
        const CheckpointFile& file = reading.out.file(ids[i]);
        if (!loaded[i].isThere() && file.status != FileStatus::Missing && !file.content)
            wanted.push_back(ids[i]);
    }
    SHARDSCOPE_TRY(std::vector<Loaded> opened, openFiles(reading, wanted));
    auto next = opened.begin();
    for (size_t i = 0; i < ids.size(); ++i) {
        if (next != opened.end() && ids[i] == wanted[static_cast<size_t>(next - opened.begin())])
            loaded[i] = std::move(*next++);
        if (loaded[i].isThere())
            settle(reading, ids[i], std::move(loaded[i]));
    }
    return {};
}

} // namespace shardscope
