// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_file.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/io/file_part.h"
#include "core/torchfile/formats/legacy_file.h"
#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/torch_file_records.h"
#include "core/torchfile/torch_file_sniff.h"
#include "core/torchfile/zip/counted_names.h"
#include "core/torchfile/zip/zip_directory.h"
#include "core/torchfile/zip/zip_directory_end.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace shardscope {
namespace {

constexpr uint64_t kScanBytes = uint64_t{16} << 20; ///< of all such records of a file together
constexpr uint64_t kSmallestPickle = 2; ///< one opcode and STOP

bool hasPickleName(std::string_view name)
{
    static constexpr std::array<std::string_view, 3> kEndings{".pkl", ".pickle", ".p"};
    return std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return name.ends_with(ending); });
}

/// The first bytes of every pickle of protocol 2 or newer. Other data may have them by chance.
bool beginsLikePickle(const io::ReadFile& file, const ZipRecord& record)
{
    std::array<uint8_t, 2> head{};
    return !record.deflated && file.readAt(record.payloadOffset, head) && head[0] == 0x80 && head[1] >= 2
        && head[1] <= 5;
}

void reportPickle(const std::string& name, Result<PickleParse> parsed, std::vector<Finding>& findings)
{
    const std::string record = "record '" + toValidUtf8(name) + "'";
    if (!parsed) {
        if (namesDangerousCode(parsed.error()))
            findings.push_back({code::kPickleDangerous, Severity::Error,
                "an unused extra pickle names code that would run in Python", toValidUtf8(name),
                {parsed.error().message}});
        else if (hasPickleName(name))
            findings.push_back({code::kPickleOpaque, Severity::Warning,
                "an unused extra pickle cannot be read; it is not changed", toValidUtf8(name),
                {parsed.error().message}});
        return;
    }
    for (Finding& finding : parsed->findings) {
        if (finding.code != code::kPickleDangerous)
            continue;
        finding.evidence.push_back("an unused extra pickle: " + record);
        finding.where = toValidUtf8(name);
        findings.push_back(std::move(finding));
    }
}

/// Looks into records that nothing in the file uses for pickles, which a loader could be led to.
///
/// Like all pickles they are parsed and never executed. Dangerous names in one are a finding of severity
/// Error (pickle-dangerous), a pickle by name that cannot be read one of severity Warning. Bounded: a pickle
/// that is too large to inspect is reported. Fails with Cancelled only.
Status scanExtraPickles(const io::ReadFile& file, const ZipDirectory& zip, std::span<const uint32_t> unused,
    std::vector<Finding>& findings, JobContext& job)
{
    PickleLimits limits;
    limits.streamBytes = kScanBytes;
    uint64_t left = kScanBytes;
    for (const uint32_t index : unused) {
        const ZipRecord& record = zip.record(index);
        if (record.damaged || record.inflatedBytes < kSmallestPickle
            || !(hasPickleName(record.name) || beginsLikePickle(file, record)))
            continue;
        SHARDSCOPE_CHECK(job.poll());
        if (record.inflatedBytes > left) {
            findings.push_back({code::kPickleOpaque, Severity::Warning,
                "an unused extra pickle is too large to be inspected", toValidUtf8(record.name),
                {formatBytes(record.inflatedBytes)}});
            continue;
        }
        left -= record.inflatedBytes;
        auto text = readRecord(file, record, kScanBytes);
        if (!text)
            continue; // verifying the file reports it
        reportPickle(record.name,
            parsePickle(std::make_shared<const std::string>(std::move(*text)), limits, job), findings);
        SHARDSCOPE_CHECK(job.poll()); // a stop shows as a pickle that cannot be read
    }
    return {};
}

bool foundFurtherBack(const io::ReadFile& file)
{
    zip::HeaderWindow window(file);
    const auto search = zip::findEnd(file, window);
    return search && search->state != zip::EndSearch::State::Absent;
}

Status refuseOtherKinds(const io::ReadFile& file, const std::vector<uint8_t>& head)
{
    if (head.size() < 4)
        return fail(ErrorCode::Damaged,
            head.empty() ? std::string("the file is empty")
                         : "the file has only " + std::to_string(head.size())
                    + (head.size() == 1 ? " byte" : " bytes"),
            file.path().string());
    const FileKind kind = sniffFile(head, file.size());
    if (kind.torchZip)
        return {};
    if (!kind.name.empty())
        return fail(kind.refusal, "this is not a torch file but " + std::string(kind.name),
            file.path().string(), std::string(kind.hint));
    const bool archiveFurtherBack = foundFurtherBack(file);
    return fail(ErrorCode::NotACheckpoint,
        archiveFurtherBack ? "this zip archive has other bytes before it, which torch does not accept"
                           : "this is not a torch file: its first bytes match no known format",
        file.path().string());
}

Status refuseTorchScript(const ZipDirectory& zip, const io::Path& path)
{
    const auto& records = zip.records();
    const bool script = std::any_of(records.begin(), records.end(), [](const ZipRecord& record) {
        return record.name == "constants.pkl" || record.name.starts_with("code/");
    });
    if (!script)
        return {};
    return fail(ErrorCode::Unsupported, "this is a TorchScript program, not a file of torch.save",
        path.string(), "nothing in it was executed");
}

/// Ranges of compressed records cannot be read, so whoever writes another file from this one would fail
/// half-way.
Status refuseCompressed(const ZipDirectory& zip, const io::Path& path)
{
    const auto& records = zip.records();
    const auto found = std::find_if(
        records.begin(), records.end(), [](const ZipRecord& record) { return record.deflated; });
    if (found == records.end())
        return {};
    return fail(ErrorCode::Unsupported, "record '" + found->name + "' is compressed, which torch never does",
        path.string(), "load and save the file with torch");
}

/// torch's loader accepts tuples that begin with 'storage' and stops at anything else, text ids of old
/// protocols included. Do not guess the meaning of such a reference.
Status refuseForeignReferences(const PickleGraph& graph, const io::Path& path)
{
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        if (graph.kind(node) != NodeKind::PersistentId)
            continue;
        const NodeId target = graph.target(node);
        const auto parts = graph.items(target);
        if (graph.kind(target) == NodeKind::Tuple && parts.size() == 5
            && asString(graph, parts[0]) == "storage")
            continue;
        return fail(ErrorCode::Damaged,
            "the pickle refers at byte " + std::to_string(graph.sourceBegin(node)) + " to "
                + nodeText(graph, target, 60) + ", which is not a storage of a torch file",
            path.string(), "torch would refuse the file; it was not written by torch.save");
    }
    return {};
}

/// Adds the file's path to the error for the caller.
tl::unexpected<Error> inFile(Error error, const io::Path& path)
{
    if (error.path.empty())
        error.path = path.string();
    return forward(std::move(error));
}

/// The arena grows as the stream is read, so that node order is the unpickler's order.
std::vector<StorageView> storagesIn(const PickleGraph& graph)
{
    std::vector<StorageView> found;
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node{i};
        if (graph.kind(node) != NodeKind::PersistentId)
            continue;
        if (const auto storage = asStorage(graph, node))
            found.push_back(*storage);
    }
    CountedNames seen(found.size());
    std::vector<StorageView> storages;
    storages.reserve(found.size());
    for (const StorageView& storage : found) {
        uint32_t& known = seen[storage.key];
        if (std::exchange(known, 0) == CountedNames::kNone)
            storages.push_back(storage);
    }
    return storages;
}

Result<FilePickle> parseStream(std::string text, const io::Path& path, JobContext& job, SharedPickles* shared,
    SharedPickles::Reduce reduce)
{
    const auto stream = std::make_shared<const std::string>(std::move(text));
    auto parsed = parsePickle(stream, PickleLimits(), job);
    if (!parsed)
        return inFile(std::move(parsed).error(), path);
    SHARDSCOPE_CHECK(refuseForeignReferences(parsed->graph, path));
    if (parsed->consumedBytes < stream->size())
        parsed->findings.push_back({code::kTrailingData, Severity::Warning,
            formatCount(stream->size() - parsed->consumedBytes)
                + " bytes follow the end of the pickle; loaders ignore them",
            "data.pkl", {"STOP at byte " + std::to_string(parsed->consumedBytes - 1)}});
    if (reduce != nullptr)
        parsed->graph = reduce(std::move(parsed->graph));
    FilePickle pickle{
        std::make_shared<const PickleGraph>(std::move(parsed->graph)), std::move(parsed->findings)};
    pickle.storages = std::make_shared<const std::vector<StorageView>>(storagesIn(*pickle.graph));
    return shared != nullptr ? shared->add(stream, reduce, std::move(pickle)) : pickle;
}

Result<FilePickle> pickleOf(const io::ReadFile& file, TorchRecords& records, JobContext& job,
    SharedFiles* shared, SharedPickles::Reduce reduce)
{
    if (shared != nullptr) {
        if (const ZipRecord* record = records.pickle()) {
            FilePickle known = shared->pickles.find(file, *record, reduce);
            if (known.graph)
                return known;
        }
    }
    SHARDSCOPE_TRY(std::string stream, records.readPickle());
    return parseStream(
        std::move(stream), file.path(), job, shared != nullptr ? &shared->pickles : nullptr, reduce);
}

/// An archive that equals one that was accepted before needs no further look at its records.
Result<std::shared_ptr<const ZipDirectory>> directoryOf(
    const io::ReadFile& file, ReadMode mode, JobContext& job, const SharedFiles* shared)
{
    if (shared != nullptr) {
        SHARDSCOPE_TRY(std::optional<ZipDirectory> same, shared->findDirectory(file, job));
        if (same)
            return std::make_shared<const ZipDirectory>(std::move(*same));
    }
    SHARDSCOPE_TRY(ZipDirectory zip, ZipDirectory::read(file, mode, job));
    SHARDSCOPE_CHECK(refuseTorchScript(zip, file.path()));
    if (mode == ReadMode::Strict)
        SHARDSCOPE_CHECK(refuseCompressed(zip, file.path()));
    return std::make_shared<const ZipDirectory>(std::move(zip));
}

} // namespace

Result<std::shared_ptr<const TorchFile>> TorchFile::open(io::FileSystem& files, const io::Path& path,
    ReadMode mode, JobContext& job, SharedFiles* shared, SharedPickles::Reduce reduce)
{
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(const std::unique_ptr<io::ReadFile> file, files.openRead(path));
    return open(*file, mode, job, shared, reduce);
}

Result<std::shared_ptr<const TorchFile>> TorchFile::openPart(io::FileSystem& files, const io::Path& path,
    uint64_t offset, uint64_t bytes, ReadMode mode, JobContext& job)
{
    SHARDSCOPE_CHECK(job.poll());
    SHARDSCOPE_TRY(const std::unique_ptr<io::ReadFile> file, files.openRead(path));
    const auto end = checkedAdd(offset, bytes);
    if (!end || *end > file->size())
        return fail(ErrorCode::Damaged, "a part of the file is beyond its end", path.string());
    return open(io::FilePart(*file, offset, bytes), mode, job);
}

Result<std::shared_ptr<const TorchFile>> TorchFile::open(const io::ReadFile& file, ReadMode mode,
    JobContext& job, SharedFiles* shared, SharedPickles::Reduce reduce)
{
    std::vector<uint8_t> head(std::min(file.size(), kSniffBytes));
    SHARDSCOPE_CHECK(file.readAt(0, head));
    auto result = std::make_shared<TorchFile>();
    result->m_path = file.path();
    result->m_identity = file.identity();
    if (isLegacyFile(head)) {
        SHARDSCOPE_CHECK(result->readLegacy(file, mode, job, reduce));
        return std::shared_ptr<const TorchFile>(std::move(result));
    }
    SHARDSCOPE_CHECK(refuseOtherKinds(file, head));
    SHARDSCOPE_TRY(result->m_zip, directoryOf(file, mode, job, shared));
    result->m_findings = result->m_zip->findings();

    TorchRecords records(file, *result->m_zip, mode);
    SHARDSCOPE_TRY(FilePickle pickle, pickleOf(file, records, job, shared, reduce));
    result->m_pickle = std::move(pickle.graph);
    std::move(pickle.findings.begin(), pickle.findings.end(), std::back_inserter(result->m_findings));

    SHARDSCOPE_TRY(result->m_bigEndian, records.readByteOrder());
    SHARDSCOPE_CHECK(records.checkFormat());
    const bool known = shared != nullptr && shared->fits(*result->m_zip, pickle.storages);
    bool fits = known;
    if (!known) {
        SHARDSCOPE_TRY(fits, records.checkStorages(*pickle.storages));
    }
    for (Finding& finding : records.takeFindings())
        result->m_findings.push_back(std::move(finding));
    SHARDSCOPE_CHECK(scanExtraPickles(file, *result->m_zip, records.unused(), result->m_findings, job));
    if (shared != nullptr)
        SHARDSCOPE_CHECK(shared->accept(file, *result->m_zip, fits ? pickle.storages : nullptr, job));
    result->keepSmallRecords(file);
    SHARDSCOPE_CHECK(file.checkUnchanged());
    return std::shared_ptr<const TorchFile>(std::move(result));
}

/// Only what costs no further request.
void TorchFile::keepSmallRecords(const io::ReadFile& file)
{
    constexpr size_t kMostRecords = 4096;
    if (m_zip->recordCount() > kMostRecords)
        return;
    for (uint32_t i = 0; i < m_zip->recordCount(); ++i) {
        const ZipRecord& record = m_zip->record(i);
        if (record.damaged || record.deflated || record.bytes == 0 || record.bytes > kSmallRecord
            || isTorchRecord(record.name))
            continue;
        const uint64_t ready = file.readyBytes(record.payloadOffset);
        std::vector<uint8_t> content(record.bytes);
        if (ready != UINT64_MAX && ready >= record.bytes && file.readAt(record.payloadOffset, content))
            m_small.emplace(i, std::move(content));
    }
}

std::span<const uint8_t> TorchFile::smallRecord(uint32_t record) const
{
    const auto found = m_small.find(record);
    return found == m_small.end() ? std::span<const uint8_t>() : std::span(found->second);
}

std::shared_ptr<const TorchFile> TorchFile::withPickle(const TorchFile& file, PickleGraph pickle)
{
    auto out = std::make_shared<TorchFile>(file);
    out->m_pickle = std::make_shared<const PickleGraph>(std::move(pickle));
    return out;
}

std::shared_ptr<const TorchFile> TorchFile::made(
    io::Path path, io::FileIdentity identity, PickleGraph pickle, HeldStorages storages)
{
    auto out = std::make_shared<TorchFile>();
    out->m_zip = std::make_shared<const ZipDirectory>(ZipDirectory::ofRecords(path.stem().string(), {}));
    out->m_path = std::move(path);
    out->m_identity = identity;
    out->m_pickle = std::make_shared<const PickleGraph>(std::move(pickle));
    out->m_held = std::make_shared<const HeldStorages>(std::move(storages));
    return out;
}

const std::string* TorchFile::heldStorage(std::string_view key) const
{
    if (!m_held)
        return nullptr;
    const auto found = m_held->find(key);
    return found == m_held->end() ? nullptr : &found->second;
}

Status TorchFile::readLegacy(
    const io::ReadFile& file, ReadMode mode, JobContext& job, SharedPickles::Reduce reduce)
{
    SHARDSCOPE_TRY(LegacyFile legacy, readLegacyFile(file, mode, job));
    m_legacy = true;
    m_bigEndian = legacy.bigEndian;
    m_findings = std::move(legacy.findings);
    m_zip = std::make_shared<const ZipDirectory>(
        ZipDirectory::ofRecords(m_path.stem().string(), std::move(legacy.records)));
    SHARDSCOPE_CHECK(refuseForeignReferences(legacy.graph, m_path));
    if (reduce != nullptr)
        legacy.graph = reduce(std::move(legacy.graph));
    m_pickle = std::make_shared<const PickleGraph>(std::move(legacy.graph));
    TorchRecords records(file, *m_zip, mode);
    SHARDSCOPE_CHECK(records.checkStorages(storagesInOrder()));
    for (Finding& finding : records.takeFindings())
        m_findings.push_back(std::move(finding));
    return file.checkUnchanged();
}

Result<TensorExtent> TorchFile::extentOf(const TensorView& tensor) const
{
    const auto damaged
        = [&](std::string message) { return fail(ErrorCode::Damaged, std::move(message), m_path.string()); };
    const std::string name = "data/" + std::string(tensor.storage.key);
    const auto found = m_zip->find(name);
    if (!found)
        return damaged("record '" + name + "' is missing from the archive");
    const ZipRecord& record = m_zip->record(*found);
    if (record.damaged)
        return damaged("record '" + name + "' is damaged");
    if (record.deflated)
        return damaged("record '" + name + "' is compressed; ranges of it cannot be read");
    const auto storageBytes
        = checkedMultiply<uint64_t>(tensor.storage.elements, itemSize(tensor.storage.dtype));
    if (storageBytes != record.bytes)
        return damaged("record '" + name + "' has " + std::to_string(record.bytes)
            + " bytes where the pickle says " + std::to_string(tensor.storage.elements) + " elements of "
            + std::string(dtypeName(tensor.storage.dtype)));

    const auto elements = tensor.elements();
    const auto bytes = elements ? checkedMultiply<uint64_t>(*elements, itemSize(tensor.dtype)) : std::nullopt;
    const auto begin = checkedMultiply<uint64_t>(tensor.storageOffset, itemSize(tensor.dtype));
    if (!bytes || !begin || *begin > record.bytes
        || (tensor.isContiguous() && *bytes > record.bytes - *begin))
        return damaged("a tensor reaches past the end of record '" + name + "'");
    return TensorExtent{*found, record.payloadOffset + *begin, *begin, *bytes};
}

std::vector<StorageView> TorchFile::storagesInOrder() const
{
    return storagesIn(*m_pickle);
}

} // namespace shardscope
