// SPDX-License-Identifier: Apache-2.0
#include "core/engine/skeleton/skeleton_content.h"

#include "core/io/crc32.h"
#include "core/torchfile/formats/legacy_file.h"
#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/pickle/pickle_redaction.h"
#include "core/torchfile/torch_file_records.h"
#include "core/torchfile/torch_file_sniff.h"
#include "core/torchfile/zip/zip_checksums.h"
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace shardscope {

namespace {

constexpr uint64_t kMaxTextBytes = 4096; ///< torch's other records contain a word or a number
constexpr uint64_t kMaxDescriptorBytes = 24;
constexpr uint64_t kRevealingBytes = 64; ///< the checksum of fewer bytes would reveal them
constexpr uint32_t kBlank = 0xFFFFFFFFu; ///< not 0, which means no checksum
constexpr uint64_t kMaxStepBytes = 8;
constexpr std::string_view kStoragePrefix = "data/";
constexpr uint64_t kLegacyCountBytes = 8; ///< before each storage of the legacy form
constexpr size_t kLegacyPickles = 5;
constexpr size_t kLegacyObject = 3; ///< after magic number, protocol and machine facts

std::span<uint8_t> bytesOf(std::string& text)
{
    return {reinterpret_cast<uint8_t*>(text.data()), text.size()};
}

class ContentReader
{
public:
    ContentReader(
        const io::ReadFile& file, PickleForm form, const std::set<std::string>& keep, JobContext& job)
        : m_file(file)
        , m_form(form)
        , m_keep(keep)
        , m_job(job)
    {
    }

    Result<SkeletonContent> read()
    {
        std::string head(std::min(m_file.size(), kSniffBytes), '\0');
        SHARDSCOPE_CHECK(m_file.readAt(0, bytesOf(head)));
        if (isLegacyFile(bytesOf(head)))
            SHARDSCOPE_CHECK(readLegacy());
        else
            SHARDSCOPE_CHECK(readZip());
        SHARDSCOPE_CHECK(m_file.checkUnchanged());
        return std::move(m_out);
    }

private:
    Status readZip()
    {
        SHARDSCOPE_TRY(const ZipDirectory zip, ZipDirectory::read(m_file, ReadMode::Tolerant, m_job));
        if (zip.isRecovered())
            return fail(ErrorCode::Damaged,
                "the archive's directory is lost, so nothing of the file can be kept",
                m_file.path().string());
        SHARDSCOPE_TRY(const ZipDirectory::EndInfo end, ZipDirectory::readEnd(m_file));
        std::vector<uint32_t> order(zip.records().size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return zip.records()[a].headerOffset < zip.records()[b].headerOffset;
        });
        std::unordered_map<std::string, uint32_t> checksums;
        if (const auto pickle = zip.find("data.pkl"); pickle && !zip.records()[*pickle].damaged) {
            SHARDSCOPE_TRY(m_pickle, pickleOf(zip.records()[*pickle], checksums));
        }
        for (size_t i = 0; i < order.size(); ++i) {
            const ZipRecord& record = zip.records()[order[i]];
            const uint64_t next
                = i + 1 < order.size() ? zip.records()[order[i + 1]].headerOffset : end.directoryOffset;
            SHARDSCOPE_CHECK(m_job.poll());
            SHARDSCOPE_CHECK(keepRecord(record, next, checksums));
        }
        SHARDSCOPE_CHECK(keep(end.directoryOffset, end.directoryBytes));
        SHARDSCOPE_CHECK(keepEnd(end.directoryOffset + end.directoryBytes));
        return setChecksums(m_out.kept, zip, end, checksums);
    }

    /// The end records after the directory, without a comment.
    Status keepEnd(uint64_t offset)
    {
        const uint64_t rest = m_file.size() - offset;
        std::array<uint8_t, sizeof(uint32_t)> signature{};
        if (rest < signature.size())
            return {};
        SHARDSCOPE_CHECK(m_file.readAt(offset, signature));
        const uint64_t zip64 = zip::kZip64EndBytes + zip::kZip64LocatorBytes;
        switch (zip::get32(signature.data())) {
        case zip::kEndSignature:
            return keep(offset, std::min(rest, zip::kEndBytes));
        case zip::kZip64EndSignature:
            return keep(offset, std::min(rest, zip64 + zip::kEndBytes));
        default: // their reader found them at another place
            return keep(offset, rest);
        }
    }

    /// The header, the kept part of the payload, and the descriptor after it.
    Status keepRecord(
        const ZipRecord& record, uint64_t next, std::unordered_map<std::string, uint32_t>& checksums)
    {
        if (record.damaged)
            return keep(record.headerOffset,
                std::min(next - record.headerOffset, zip::kLocalBytes + record.name.size()));
        SHARDSCOPE_CHECK(keep(record.headerOffset, record.payloadOffset - record.headerOffset));
        if (record.name == "data.pkl") {
            m_out.kept.add(record.payloadOffset, m_pickle);
            m_pickle = {};
        } else if ((isTorchRecord(record.name) && record.bytes <= kMaxTextBytes) || isStep(record)) {
            SHARDSCOPE_CHECK(keep(record.payloadOffset, record.bytes));
        } else if (record.crcPresent && record.bytes > 0 && record.inflatedBytes < kRevealingBytes) {
            checksums.emplace(record.name, kBlank);
        }
        const uint64_t behind = record.payloadOffset + record.bytes;
        return keep(behind, std::min(next - behind, kMaxDescriptorBytes));
    }

    /// Whether it is a single number, a step count.
    [[nodiscard]] bool isStep(const ZipRecord& record) const
    {
        return record.bytes <= kMaxStepBytes && record.name.starts_with(kStoragePrefix)
            && m_steps.contains(record.name.substr(kStoragePrefix.size()));
    }

    Result<std::string> pickleOf(
        const ZipRecord& record, std::unordered_map<std::string, uint32_t>& checksums)
    {
        if (record.deflated)
            return fail(ErrorCode::Unsupported,
                "record 'data.pkl' is compressed, so nothing of the file can be kept",
                m_file.path().string());
        if (record.bytes > PickleLimits().streamBytes)
            return fail(
                ErrorCode::LimitExceeded, "the pickle is too long to be read", m_file.path().string());
        auto text = std::make_shared<std::string>(record.bytes, '\0');
        SHARDSCOPE_CHECK(m_file.readAt(record.payloadOffset, bytesOf(*text)));
        const uint32_t before = io::crc32(0, bytesOf(*text));
        SHARDSCOPE_TRY(std::string redacted, redactedPickle(text, true));
        if (record.crcPresent && record.crc32 == before) // a wrong CRC stays wrong
            checksums.emplace(record.name, io::crc32(0, bytesOf(redacted)));
        return redacted;
    }

    /// The pickle at the start of `stream`; the rest becomes zeros.
    Result<std::string> redactedPickle(
        const std::shared_ptr<const std::string>& stream, bool holdsValues, uint64_t* consumed = nullptr)
    {
        SHARDSCOPE_TRY(const PickleParse parsed, parsePickle(stream, PickleLimits(), m_job));
        std::string out = *stream;
        if (consumed != nullptr)
            *consumed = parsed.consumedBytes;
        std::fill(out.begin() + static_cast<ptrdiff_t>(parsed.consumedBytes), out.end(), '\0');
        if (!holdsValues)
            return out;
        KeptValues shown = keptValues(parsed.graph, *stream, m_form, m_keep);
        redactPickle(out, parsed.graph, shown.kept);
        m_out.redactedKeys.merge(shown.redactedKeys);
        m_out.keptKeys.merge(shown.keptKeys);
        m_steps = std::move(shown.steps);
        return out;
    }

    /// Five pickles, then for each storage a count and the elements.
    Status readLegacy()
    {
        SHARDSCOPE_TRY(const LegacyFile legacy, readLegacyFile(m_file, ReadMode::Tolerant, m_job));
        std::vector<const ZipRecord*> storages;
        for (const ZipRecord& record : legacy.records) {
            if (record.name.starts_with(kStoragePrefix))
                storages.push_back(&record);
        }
        std::sort(storages.begin(), storages.end(),
            [](const auto* a, const auto* b) { return a->payloadOffset < b->payloadOffset; });
        const uint64_t most = PickleLimits().streamBytes;
        const uint64_t first = storages.empty() ? m_file.size() : storages.front()->payloadOffset;
        const uint64_t pickles = storages.empty() ? first : first - std::min(first, kLegacyCountBytes);
        if (pickles > most)
            return fail(
                ErrorCode::LimitExceeded, "the pickles are too long to be read", m_file.path().string());
        uint64_t at = 0;
        for (size_t i = 0; i < kLegacyPickles && at < pickles; ++i) {
            auto rest = std::make_shared<std::string>(pickles - at, '\0');
            SHARDSCOPE_CHECK(m_file.readAt(at, bytesOf(*rest)));
            uint64_t consumed = 0;
            SHARDSCOPE_TRY(std::string redacted, redactedPickle(rest, i == kLegacyObject, &consumed));
            redacted.resize(consumed);
            m_out.kept.add(at, redacted);
            at += consumed;
        }
        m_steps = keptValues(legacy.graph, {}, m_form, m_keep).steps; // as keys of the zip form
        for (const ZipRecord* storage : storages) {
            if (storage->payloadOffset >= at + kLegacyCountBytes && !storage->damaged) {
                SHARDSCOPE_CHECK(keep(storage->payloadOffset - kLegacyCountBytes, kLegacyCountBytes));
                if (isStep(*storage))
                    SHARDSCOPE_CHECK(keep(storage->payloadOffset, storage->bytes));
                at = storage->payloadOffset + storage->bytes;
            }
        }
        return {};
    }

    Status keep(uint64_t offset, uint64_t bytes)
    {
        if (bytes == 0)
            return {};
        std::string part(bytes, '\0');
        SHARDSCOPE_CHECK(m_file.readAt(offset, bytesOf(part)));
        m_out.kept.add(offset, part);
        return {};
    }

    const io::ReadFile& m_file;
    PickleForm m_form;
    const std::set<std::string>& m_keep;
    JobContext& m_job;
    SkeletonContent m_out;
    std::string m_pickle; ///< redacted; kept until its place is reached
    std::set<std::string> m_steps; ///< keys of storages
};

} // namespace

Result<SkeletonContent> skeletonContent(io::FileSystem& files, const io::Path& path, PickleForm form,
    const std::set<std::string>& keep, JobContext& job)
{
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    return ContentReader(*file, form, keep, job).read();
}

} // namespace shardscope
