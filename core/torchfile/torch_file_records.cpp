// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_file_records.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/zip/zip_directory_record.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shardscope {
namespace {

constexpr uint64_t kTextLimit = 4096; ///< these records hold a word or a number
constexpr size_t kNamesShown = 8;
constexpr int kOldestVersion = 1; ///< kMinSupportedFileFormatVersion of caffe2/serialize/versions.h
constexpr int kNewestVersion = 10; ///< kMaxSupportedFileFormatVersion

/// A decimal number, followed only by a line end.
std::optional<uint64_t> numberOf(std::string_view text)
{
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.remove_suffix(1);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

} // namespace

bool isTorchRecord(std::string_view name)
{
    static constexpr std::array<std::string_view, 7> kKnown{"data.pkl", "version", "byteorder",
        ".format_version", ".storage_alignment", ".data/serialization_id", ".data/version"};
    return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
}

TorchRecords::TorchRecords(const io::ReadFile& file, const ZipDirectory& zip, ReadMode mode)
    : m_file(file)
    , m_zip(zip)
    , m_mode(mode)
{
}

Status TorchRecords::doubt(std::string_view code, std::string message)
{
    if (m_mode == ReadMode::Strict)
        return fail(ErrorCode::Damaged, std::move(message), m_file.path().string());
    m_findings.push_back({code, Severity::Error, std::move(message), {}, {}});
    return {};
}

Result<std::optional<std::string>> TorchRecords::readText(uint32_t record)
{
    auto text = readRecord(m_file, m_zip.record(record), kTextLimit);
    if (text)
        return std::optional<std::string>(std::move(*text));
    if (text.error().code == ErrorCode::Unreadable)
        return forward(std::move(text).error());
    SHARDSCOPE_CHECK(doubt(code::kRecordCorrupt, text.error().message));
    return std::optional<std::string>();
}

const ZipRecord* TorchRecords::pickle() const
{
    const auto found = m_zip.find("data.pkl");
    return found ? &m_zip.record(*found) : nullptr;
}

Result<std::string> TorchRecords::readPickle()
{
    const ZipRecord* record = pickle();
    if (record == nullptr)
        return fail(ErrorCode::Damaged,
            "record 'data.pkl', which describes the contents of the file, is missing", m_file.path().string(),
            m_zip.isRecovered() ? "copy the file again from where it was saved"
                                : "it may be another kind of zip file");
    SHARDSCOPE_TRY(UncheckedRecord read, readRecordUnchecked(m_file, *record, PickleLimits().streamBytes));
    if (!read.crcMatches)
        SHARDSCOPE_CHECK(doubt(code::kRecordCorrupt,
            "record 'data.pkl' is damaged: its checksum is wrong, so names and sizes may be too"));
    return std::move(read.bytes);
}

Result<bool> TorchRecords::readByteOrder()
{
    const auto found = m_zip.find("byteorder");
    if (!found)
        return false;
    SHARDSCOPE_TRY(const std::string text, readRecord(m_file, m_zip.record(*found), kTextLimit));
    if (text != "little" && text != "big")
        return fail(ErrorCode::Damaged,
            "record 'byteorder' says '" + toValidUtf8(text.substr(0, 40)) + "', but must be little or big",
            m_file.path().string());
    return text == "big";
}

Status TorchRecords::checkFormat()
{
    const auto newer = m_zip.find(".data/version");
    const auto version = newer ? newer : m_zip.find("version");
    if (!version) {
        SHARDSCOPE_CHECK(
            doubt(code::kRecordMissing, "record 'version' is missing; torch would refuse the file"));
    } else {
        SHARDSCOPE_TRY(const std::optional<std::string> text, readText(*version));
        const auto number = text ? numberOf(*text) : std::nullopt;
        if (text && (!number || *number < kOldestVersion || *number > kNewestVersion))
            SHARDSCOPE_CHECK(doubt(code::kRecordCorrupt,
                "record 'version' is '" + toValidUtf8(text->substr(0, 40))
                    + "'; torch reads 1 to 10 and would refuse the file"));
    }
    // Only torch's offset arithmetic uses these two; our offsets come from the headers.
    const auto warn = [&](std::string_view name, const std::function<bool(uint64_t)>& valid) -> Status {
        const auto record = m_zip.find(name);
        if (!record)
            return {};
        SHARDSCOPE_TRY(const std::optional<std::string> text, readText(*record));
        const auto number = text ? numberOf(*text) : std::nullopt;
        if (text && (!number || !valid(*number)))
            m_findings.push_back({code::kRecordCorrupt, Severity::Warning,
                "record '" + std::string(name) + "' is '" + toValidUtf8(text->substr(0, 40))
                    + "', which torch never writes",
                {}, {}});
        return {};
    };
    SHARDSCOPE_CHECK(warn(".format_version", [](uint64_t value) { return value >= 1 && value <= 100; }));
    return warn(".storage_alignment",
        [](uint64_t value) { return value >= 1 && value <= 65536 && (value & (value - 1)) == 0; });
}

std::optional<uint32_t> TorchRecords::recordOf(const std::string& name, std::optional<uint32_t> last) const
{
    if (last && *last + size_t{1} < m_zip.recordCount() && m_zip.record(*last + 1).name == name)
        return *last + 1;
    return m_zip.find(name);
}

Result<bool> TorchRecords::checkStorages(std::span<const StorageView> storages)
{
    std::vector<bool> used(m_zip.recordCount(), false);
    std::optional<uint32_t> last;
    std::vector<std::string> missing;
    std::vector<std::string> wrong;
    uint64_t missingCount = 0;
    uint64_t wrongCount = 0;
    for (const StorageView& storage : storages) {
        const std::string name = "data/" + std::string(storage.key);
        const auto found = recordOf(name, last);
        if (!found) {
            if (++missingCount <= kNamesShown)
                missing.push_back("record '" + toValidUtf8(name) + "'");
            continue;
        }
        last = found;
        used[*found] = true;
        const ZipRecord& record = m_zip.record(*found);
        const auto bytes = checkedMultiply<uint64_t>(storage.elements, itemSize(storage.dtype));
        if (!record.damaged && bytes != record.inflatedBytes && ++wrongCount <= kNamesShown)
            wrong.push_back("record '" + name + "' has " + std::to_string(record.inflatedBytes)
                + " bytes, the pickle says " + std::to_string(storage.elements) + " × "
                + std::string(dtypeName(storage.dtype)));
    }
    if (missingCount > 0) {
        SHARDSCOPE_CHECK(doubt(code::kRecordMissing,
            formatCount(missingCount) + " of " + formatCount(storages.size())
                + " storages have no record in the archive"));
        m_findings.back().evidence = std::move(missing);
    }
    if (wrongCount > 0) {
        SHARDSCOPE_CHECK(doubt(code::kTensorInvalid,
            formatCount(wrongCount)
                + " storages differ in size from their record; torch 2.10 and later refuse them"));
        m_findings.back().evidence = std::move(wrong);
    }
    checkUnused(used);
    return missingCount == 0 && wrongCount == 0 && m_unused.empty();
}

void TorchRecords::checkUnused(const std::vector<bool>& used)
{
    Finding finding{code::kRecordUnused, Severity::Warning, {}, {}, {}};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < used.size(); ++i) {
        const ZipRecord& record = m_zip.record(i);
        if (used[i] || isTorchRecord(record.name))
            continue;
        bytes += record.bytes;
        m_unused.push_back(i);
        if (m_unused.size() <= kNamesShown)
            finding.evidence.push_back("record '" + record.name + "', " + formatBytes(record.bytes));
    }
    if (m_unused.empty())
        return;
    finding.message
        = formatCount(m_unused.size()) + " records (" + formatBytes(bytes) + ") are not used by the file";
    m_findings.push_back(std::move(finding));
}

} // namespace shardscope
