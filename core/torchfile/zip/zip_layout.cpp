// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_layout.h"

#include "core/base/checked.h"
#include "core/base/sha256.h"
#include "core/torchfile/zip/zip_format.h"

#include <string_view>
#include <unordered_set>

namespace shardscope {
namespace {

/// The padding itself is an extra field with a 16-bit length.
constexpr uint32_t kLargestAlignment = 32768;

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

} // namespace

Result<ZipLayout> ZipLayout::make(std::string prefix, std::vector<ZipRecordSpec> records, uint32_t alignment)
{
    if (prefix.empty())
        return fail(ErrorCode::Usage, "an archive needs a name that its records begin with");
    if (records.empty())
        return fail(ErrorCode::Usage, "an archive needs at least one record");
    if (alignment == 0 || alignment > kLargestAlignment)
        return fail(ErrorCode::Usage, "payloads can be aligned to 1 to 32768 bytes");

    ZipLayout layout;
    std::unordered_set<std::string_view> names;
    names.reserve(records.size());
    layout.m_headerOffsets.reserve(records.size());
    layout.m_padBytes.reserve(records.size());
    const Error tooLong{ErrorCode::LimitExceeded, "the archive would be too long for 64-bit offsets", {}, {}};
    uint64_t cursor = 0;
    uint64_t directoryBytes = 0;
    for (const ZipRecordSpec& record : records) {
        const uint64_t nameBytes = prefix.size() + 1 + record.name.size();
        if (record.name.empty() || nameBytes > zip::kMax16)
            return fail(ErrorCode::Usage, "a record's name is empty or longer than 65535 bytes");
        if (!names.insert(record.name).second)
            return fail(ErrorCode::Usage, "two records are called '" + record.name + "'");
        const auto unpadded = checkedAdd(cursor, zip::unpaddedHeaderBytes(nameBytes, record.bytes, cursor));
        if (!unpadded)
            return forward(tooLong);
        const uint64_t pad = (alignment - *unpadded % alignment) % alignment;
        // Everything but the payload is far below 2^20 bytes.
        const auto end
            = checkedAdd(checkedAdd(*unpadded, record.bytes).value_or(UINT64_MAX), uint64_t{1} << 20);
        if (!end)
            return forward(tooLong);
        layout.m_headerOffsets.push_back(cursor);
        layout.m_padBytes.push_back(static_cast<uint32_t>(pad));
        directoryBytes += zip::centralEntryBytes(nameBytes, record.bytes, cursor);
        cursor = *unpadded + pad + record.bytes + zip::descriptorBytes(record.bytes, cursor);
    }
    const auto total
        = checkedAdd(cursor, directoryBytes + zip::kZip64EndBytes + zip::kZip64LocatorBytes + zip::kEndBytes);
    if (!total)
        return forward(tooLong);
    layout.m_directoryOffset = cursor;
    layout.m_totalBytes = *total;
    layout.m_prefix = std::move(prefix);
    layout.m_records = std::move(records);
    return layout;
}

uint64_t ZipLayout::payloadOffset(uint32_t record) const
{
    const ZipRecordSpec& spec = m_records[record];
    const uint64_t header = m_headerOffsets[record];
    return header + zip::unpaddedHeaderBytes(m_prefix.size() + 1 + spec.name.size(), spec.bytes, header)
        + m_padBytes[record];
}

std::string ZipLayout::localHeader(uint32_t record) const
{
    const ZipRecordSpec& spec = m_records[record];
    std::string out;
    zip::appendLocalHeader(out, m_prefix, spec.name, spec.bytes, m_headerOffsets[record], m_padBytes[record]);
    return out;
}

std::string ZipLayout::dataDescriptor(uint32_t record, uint32_t crc32) const
{
    std::string out;
    zip::appendDescriptor(out, m_records[record].bytes, m_headerOffsets[record], crc32);
    return out;
}

std::string ZipLayout::directory(const std::vector<uint32_t>& crcs) const
{
    std::string out;
    out.reserve(m_totalBytes - m_directoryOffset);
    for (size_t i = 0; i < m_records.size(); ++i)
        zip::appendCentralEntry(
            out, m_prefix, m_records[i].name, m_records[i].bytes, m_headerOffsets[i], crcs[i]);
    zip::appendEnd(out, m_records.size(), m_directoryOffset, out.size());
    return out;
}

std::string serializationId(const std::vector<ZipRecordSpec>& records, const std::vector<uint32_t>& crcs)
{
    Sha256 digest;
    for (size_t i = 0; i < records.size(); ++i) {
        const uint64_t fields[3] = {records[i].name.size(), records[i].bytes, crcs[i]};
        digest.update({reinterpret_cast<const uint8_t*>(fields), sizeof fields});
        digest.update(bytesOf(records[i].name));
    }
    // Two zero-padded numbers below 2^64, as torch writes them.
    const auto bytes = digest.finish();
    std::string id;
    for (const size_t at : {size_t{0}, size_t{8}}) {
        const std::string digits = std::to_string(zip::get64(bytes.data() + at));
        id.append(20 - digits.size(), '0').append(digits);
    }
    return id;
}

} // namespace shardscope
