// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_walk.h"

#include "core/plan/model/output_bytes.h"

#include <utility>

namespace shardscope {

namespace {

/// For a walk of a whole file.
class OwnCrcs final : public RecordCrcs
{
public:
    explicit OwnCrcs(size_t records)
        : m_crcs(records)
    {
    }

    void add(const RecordPart& part) override { m_crcs[part.record] = part.crc32; }
    void addLate(ByteRange) override { }
    Result<std::optional<uint32_t>> whole(uint32_t record) override { return std::optional(m_crcs[record]); }
    [[nodiscard]] uint32_t of(uint32_t record) const { return m_crcs[record]; }

private:
    std::vector<uint32_t> m_crcs;
};

} // namespace

Result<std::vector<WrittenRecord>> OutputWalk::run(uint64_t fileBytes)
{
    OwnCrcs crcs(m_file.records.size());
    SHARDSCOPE_CHECK(runWindow(fileBytes, {0, fileBytes}, crcs));
    std::vector<WrittenRecord> out;
    if (!m_file.torchArchive)
        return out;
    out.reserve(m_file.records.size());
    for (uint32_t i = 0; i < m_file.records.size(); ++i)
        out.push_back({m_file.records[i].name, m_file.records[i].bytes, crcs.of(i)});
    return out;
}

Result<WalkedWindow> OutputWalk::runWindow(uint64_t fileBytes, ByteRange window, RecordCrcs& crcs)
{
    m_window = window;
    m_at = 0;
    m_walked = {};
    SHARDSCOPE_CHECK(m_file.torchArchive ? walkArchive(fileBytes, crcs) : walkPlain(fileBytes));
    SHARDSCOPE_CHECK(m_sink.finish());
    return std::move(m_walked);
}

Status OutputWalk::walkPlain(uint64_t fileBytes)
{
    uint64_t bytes = 0;
    for (const OutputRecord& record : m_file.records)
        bytes += record.bytes;
    if (bytes != fileBytes)
        return planBug("a plain file of " + std::to_string(bytes) + " bytes was planned as "
            + std::to_string(fileBytes));
    for (uint32_t i = 0; i < m_file.records.size(); ++i)
        SHARDSCOPE_CHECK(pourRecord(m_file.records[i], i, nullptr)); // plain files have no CRCs
    return {};
}

Status OutputWalk::walkArchive(uint64_t fileBytes, RecordCrcs& crcs)
{
    SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(m_file));
    if (layout.totalBytes() != fileBytes)
        return planBug("an archive of " + std::to_string(layout.totalBytes()) + " bytes was planned as "
            + std::to_string(fileBytes));
    const auto count = static_cast<uint32_t>(m_file.records.size());
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t end = i + 1 < count ? layout.headerOffset(i + 1) : layout.directoryOffset();
        m_at = layout.headerOffset(i);
        if (isInWindow(m_at, end - m_at))
            SHARDSCOPE_CHECK(pourArchived(layout, i, crcs));
    }
    m_at = layout.directoryOffset();
    if (isInWindow(m_at, fileBytes - m_at))
        SHARDSCOPE_CHECK(pourDirectory(layout, crcs));
    return {};
}

Status OutputWalk::pourArchived(const ZipLayout& layout, uint32_t index, RecordCrcs& crcs)
{
    const OutputRecord& record = m_file.records[index];
    SHARDSCOPE_CHECK(pourText(layout.localHeader(index), nullptr));
    if (record.content == OutputRecord::Content::SerializationId) {
        if (index + 1 != m_file.records.size())
            return planBug("the serialization id is not the last record");
        if (isInWindow(m_at, record.bytes)) {
            SHARDSCOPE_TRY(const auto known, crcsOf(index, crcs));
            if (known) {
                std::vector<ZipRecordSpec> others = layout.records();
                others.pop_back();
                OutputRecord text = record;
                text.literal = serializationId(others, *known);
                text.content = OutputRecord::Content::Literal;
                SHARDSCOPE_CHECK(pourRecord(text, index, &crcs));
            } else {
                SHARDSCOPE_CHECK(pourLate(record.bytes, crcs));
            }
        } else {
            m_at += record.bytes;
        }
    } else {
        SHARDSCOPE_CHECK(pourRecord(record, index, &crcs));
    }
    const uint64_t descriptor = layout.dataDescriptor(index, 0).size();
    if (descriptor == 0 || !isInWindow(m_at, descriptor))
        return {};
    SHARDSCOPE_TRY(const auto crc, crcs.whole(index));
    return crc ? pourText(layout.dataDescriptor(index, *crc), nullptr) : pourLate(descriptor, crcs);
}

Status OutputWalk::pourDirectory(const ZipLayout& layout, RecordCrcs& crcs)
{
    SHARDSCOPE_TRY(const auto known, crcsOf(static_cast<uint32_t>(m_file.records.size()), crcs));
    return known ? pourText(layout.directory(*known), nullptr) : pourLate(layout.totalBytes() - m_at, crcs);
}

Result<std::optional<std::vector<uint32_t>>> OutputWalk::crcsOf(uint32_t count, RecordCrcs& crcs)
{
    std::vector<uint32_t> out;
    out.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        SHARDSCOPE_TRY(const auto crc, crcs.whole(i));
        if (!crc)
            return std::optional<std::vector<uint32_t>>();
        out.push_back(*crc);
    }
    return std::optional(std::move(out));
}

Status OutputWalk::pourLate(uint64_t bytes, RecordCrcs& crcs)
{
    const ByteRange part = inWindow(bytes);
    const ByteRange late{m_at + part.begin, m_at + part.end};
    crcs.addLate(late);
    m_walked.late.push_back(late);
    return pourText(std::string(bytes, '\0'), nullptr);
}

} // namespace shardscope
