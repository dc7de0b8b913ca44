// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_archives.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

DcpArchives::DcpArchives(io::FileSystem& files, io::Path folder, const std::vector<DcpEntry>& entries,
    JobContext& job, Checkpoint& out)
    : m_files(files)
    , m_folder(std::move(folder))
    , m_job(job)
    , m_out(out)
{
    for (const DcpEntry& entry : entries) {
        if (!entry.isTensor)
            addPlace(entry.place);
        for (const DcpChunk& chunk : entry.chunks)
            addPlace(chunk.place);
    }
    checkPlaces();
}

void DcpArchives::addPlace(const DcpPlace& place)
{
    const auto [known, isNew]
        = m_ids.try_emplace(place.file, FileId{static_cast<uint32_t>(m_out.files.size())});
    if (isNew) {
        CheckpointFile file;
        file.path = m_folder / place.file;
        file.name = place.file;
        file.role = FileRole::OptimStates;
        const auto info = m_files.stat(file.path);
        const bool isMissing = !info && info.error().code == ErrorCode::NotFound;
        file.status = info ? FileStatus::Ok : isMissing ? FileStatus::Missing : FileStatus::Damaged;
        if (info)
            file.identity = info->identity;
        m_out.files.push_back(std::move(file));
    }
    m_out.archives.push_back({known->second, place.offset, place.bytes});
}

void DcpArchives::checkPlaces()
{
    std::vector<ArchivePart>& parts = m_out.archives;
    std::sort(parts.begin(), parts.end());
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
        if (parts[i] == parts[i + 1])
            m_shared.emplace(parts[i].file, parts[i].offset);
    }
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    // the metadata's reader has checked that they end inside 64 bits
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const bool overlaps
            = parts[i].file == parts[i + 1].file && parts[i].offset + parts[i].bytes > parts[i + 1].offset;
        if (overlaps && m_overlapping.insert(parts[i].file).second)
            report({ErrorCode::Damaged, "the metadata name parts of it that overlap",
                       m_out.file(parts[i].file).path.string(), {}},
                m_out.file(parts[i].file).name);
    }
}

Result<std::shared_ptr<const TorchFile>> DcpArchives::open(const DcpPlace& place)
{
    const CheckpointFile& file = m_out.file(fileOf(place.file));
    if (m_overlapping.contains(fileOf(place.file)))
        return fail(ErrorCode::Damaged, "parts of the file overlap", file.path.string());
    auto opened = TorchFile::openPart(
        m_files, m_folder / place.file, place.offset, place.bytes, ReadMode::Strict, m_job);
    if (opened && (*opened)->isBigEndian())
        opened = fail(ErrorCode::Unsupported, "it was written on a big-endian machine", file.path.string());
    if (opened) {
        const auto& findings = (*opened)->findings();
        const auto danger = std::find_if(findings.begin(), findings.end(),
            [](const Finding& finding) { return finding.severity == Severity::Error; });
        if (danger != findings.end())
            opened = fail(danger->code == code::kPickleDangerous ? ErrorCode::Hostile : ErrorCode::Damaged,
                danger->message, file.path.string());
    }
    if (!opened && opened.error().code != ErrorCode::Cancelled)
        report(opened.error(), place.file);
    return opened;
}

Result<StoredRun> DcpArchives::runOf(const DcpEntry& entry, const DcpChunk& chunk)
{
    const std::pair key{fileOf(chunk.place.file), chunk.place.offset};
    if (!m_shared.contains(key))
        return readRun(entry, chunk);
    const auto known = m_found.find(key);
    if (known != m_found.end() && known->second.dtype == entry.dtype && known->second.shape == chunk.sizes)
        return known->second.run;
    SHARDSCOPE_TRY(const StoredRun run, readRun(entry, chunk));
    if (known == m_found.end())
        m_found.emplace(key, Found{entry.dtype, chunk.sizes, run});
    return run;
}

Result<StoredRun> DcpArchives::readRun(const DcpEntry& entry, const DcpChunk& chunk)
{
    const auto file = open(chunk.place);
    if (!file && file.error().code == ErrorCode::Cancelled)
        return forward(file.error());
    if (!file)
        return StoredRun{};
    const PickleGraph& graph = (*file)->pickle();
    const auto tensor = asTensor(graph, graph.root());
    const auto extent = tensor ? (*file)->extentOf(*tensor) : Result<TensorExtent>(forward(tensor.error()));
    const bool fits
        = extent && tensor->dtype == entry.dtype && tensor->sizes == chunk.sizes && tensor->isContiguous();
    if (!fits) {
        report(
            extent ? Error{ErrorCode::Damaged,
                "`" + toValidUtf8(entry.key) + "` is not stored as the metadata record", chunk.place.file, {}}
                   : extent.error(),
            chunk.place.file);
        return StoredRun{};
    }
    return StoredRun{fileOf(chunk.place.file), StoredRun::kNoRecord, chunk.place.offset + extent->byteOffset,
        elementCount(chunk.sizes).value_or(0)};
}

Result<std::string> DcpArchives::storageBytes(
    const DcpPlace& place, const TorchFile& archive, std::string_view key, uint64_t maxBytes)
{
    const std::string name = "data/" + std::string(key);
    const auto found = archive.zip().find(name);
    const ZipRecord* record = found ? &archive.zip().record(*found) : nullptr;
    if (record == nullptr || record->damaged || record->deflated) {
        Error error{ErrorCode::Damaged, "record '" + name + "' of a part of the file cannot be read",
            (m_folder / place.file).string(), {}};
        report(error, place.file);
        return forward(std::move(error));
    }
    if (record->bytes > maxBytes)
        return fail(ErrorCode::LimitExceeded,
            formatCount(record->bytes) + " bytes of a tensor outside the model",
            (m_folder / place.file).string());
    SHARDSCOPE_TRY(const auto file, m_files.openRead(m_folder / place.file));
    std::string out(record->bytes, '\0');
    SHARDSCOPE_CHECK(file->readAt(
        place.offset + record->payloadOffset, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
    return out;
}

Result<double> DcpArchives::element(const StoredRun& run, DType dtype)
{
    std::vector<uint8_t> bytes(itemSize(dtype));
    SHARDSCOPE_TRY(const auto file, m_files.openRead(m_out.file(run.file).path));
    SHARDSCOPE_CHECK(file->readAt(run.byteOffset, bytes));
    return elementAsDouble(dtype, bytes.data());
}

void DcpArchives::report(const Error& error, const std::string& name)
{
    CheckpointFile& entry = m_out.files[index(fileOf(name))];
    if (!m_reported.insert(name).second)
        return;
    const bool missing = entry.status == FileStatus::Missing;
    if (!missing)
        entry.status = FileStatus::Damaged;
    m_out.findings.push_back({missing          ? code::kRankMissing
            : error.code == ErrorCode::Hostile ? code::kFileHostile
                                               : code::kFileUnreadable,
        Severity::Error,
        missing ? "the metadata name a file that does not exist" : "a part of the file cannot be used",
        percentEncode(name), {describe(error)}});
}

} // namespace shardscope
