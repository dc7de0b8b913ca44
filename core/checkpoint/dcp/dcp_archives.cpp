// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/dcp/dcp_archives.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

/// A box of a tensor whose elements follow each other in the storage.
struct StridedBox {
    Box box;
    uint64_t element = 0; ///< of the storage, from the tensor's first element
};

constexpr uint64_t kMaxBoxes = 1 << 16; ///< of one tensor

/// The dimensions, last one first, of the largest boxes that are row-major in the storage.
std::vector<size_t> denseDimensions(const Shape& sizes, const std::vector<uint64_t>& strides)
{
    std::vector<size_t> out;
    uint64_t expected = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        if (sizes[d] > 1 && strides[d] == expected) {
            out.push_back(d);
            expected *= sizes[d]; // cannot overflow: the number of elements fits
        }
    }
    return out;
}

/// Whether no two elements are the same one of the storage.
bool isInjective(const Shape& sizes, const std::vector<uint64_t>& strides)
{
    std::vector<std::pair<uint64_t, uint64_t>> steps; // stride, size
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] > 1)
            steps.emplace_back(strides[d], sizes[d]);
    }
    std::sort(steps.begin(), steps.end());
    uint64_t reached = 0; // by the smaller steps; inside the storage, so it does not overflow
    for (const auto& [stride, size] : steps) {
        if (stride <= reached)
            return false;
        reached += stride * (size - 1);
    }
    return true;
}

/// A tensor of any strides as boxes that are contiguous in the storage: one if it is stored row by row.
/// Nothing if elements share a place, or if there would be too many boxes.
std::optional<std::vector<StridedBox>> boxesInOrder(const Shape& sizes, const std::vector<uint64_t>& strides)
{
    const uint64_t elements = elementCount(sizes).value_or(0);
    std::vector<StridedBox> out;
    out.push_back({{Shape(sizes.size(), 0), sizes}, 0});
    if (elements == 0)
        return out;
    if (!isInjective(sizes, strides))
        return std::nullopt;
    Shape inner(sizes.size(), 1);
    uint64_t boxElements = 1;
    for (const size_t d : denseDimensions(sizes, strides)) {
        inner[d] = sizes[d];
        boxElements *= sizes[d];
    }
    const uint64_t count = elements / boxElements;
    if (count > kMaxBoxes)
        return std::nullopt;
    StridedBox at{{Shape(sizes.size(), 0), inner}, 0};
    out.clear();
    for (uint64_t i = 0; i < count; ++i) {
        out.push_back(at);
        for (size_t d = sizes.size(); d-- > 0;) { // the next position outside the boxes
            if (inner[d] == sizes[d])
                continue;
            at.element += strides[d];
            if (++at.box.offsets[d] < sizes[d])
                break;
            at.element -= strides[d] * sizes[d];
            at.box.offsets[d] = 0;
        }
    }
    return out;
}

} // namespace

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

Result<DcpStored> DcpArchives::storedOf(const DcpEntry& entry, const DcpChunk& chunk)
{
    const std::pair key{fileOf(chunk.place.file), chunk.place.offset};
    const auto known = m_found.find(key);
    DcpStored out;
    if (known != m_found.end() && known->second.dtype == entry.dtype && known->second.shape == chunk.sizes) {
        out = known->second.stored;
    } else {
        SHARDSCOPE_TRY(out, readStored(entry, chunk));
        if (m_shared.contains(key))
            m_found.emplace(key, Found{entry.dtype, chunk.sizes, out});
    }
    for (Box& box : out.boxes) {
        for (size_t d = 0; d < box.offsets.size(); ++d)
            box.offsets[d] += chunk.offsets[d];
    }
    return out;
}

Result<DcpStored> DcpArchives::readStored(const DcpEntry& entry, const DcpChunk& chunk)
{
    DcpStored absent{{{Shape(chunk.sizes.size(), 0), chunk.sizes}}, {StoredRun{}}};
    const auto file = open(chunk.place);
    if (!file && file.error().code == ErrorCode::Cancelled)
        return forward(file.error());
    if (!file)
        return absent;
    const PickleGraph& graph = (*file)->pickle();
    const std::string name = "`" + toValidUtf8(entry.key) + "`";
    const auto tensor = asTensor(graph, graph.root());
    const auto extent = tensor ? (*file)->extentOf(*tensor) : Result<TensorExtent>(forward(tensor.error()));
    if (!extent) {
        Error error = extent.error();
        error.message = name + ": " + error.message;
        report(error, chunk.place.file);
        return absent;
    }
    if (tensor->dtype != entry.dtype || tensor->sizes != chunk.sizes) {
        report({ErrorCode::Damaged, name + " is not stored as the metadata record", chunk.place.file, {}},
            chunk.place.file);
        return absent;
    }
    auto boxes = boxesInOrder(tensor->sizes, tensor->strides);
    if (!boxes) {
        report({ErrorCode::Unsupported, name + " is stored with strides that this build does not follow",
                   chunk.place.file, {}},
            chunk.place.file);
        return absent;
    }
    DcpStored out;
    for (StridedBox& part : *boxes) {
        out.runs.push_back({fileOf(chunk.place.file), StoredRun::kNoRecord,
            chunk.place.offset + extent->byteOffset + part.element * itemSize(entry.dtype),
            elementCount(part.box.sizes).value_or(0)});
        out.boxes.push_back(std::move(part.box));
    }
    return out;
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
    if (error.code == ErrorCode::Unsupported && entry.status == FileStatus::Ok) {
        if (!m_refused)
            m_refused = error;
        return;
    }
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
