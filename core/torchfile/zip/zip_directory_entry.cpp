// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_entry.h"

#include "core/torchfile/zip/zip_format.h"

#include <algorithm>

namespace shardscope::zip {
namespace {

std::string_view textOf(std::span<const uint8_t> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

ExtraField parseExtra(std::span<const uint8_t> field)
{
    ExtraField extra;
    while (!field.empty()) {
        if (field.size() < 4 || get16(&field[2]) > field.size() - 4) {
            extra.overruns = true;
            return extra;
        }
        const uint16_t id = get16(&field[0]);
        const uint16_t length = get16(&field[2]);
        const std::string_view content = textOf(field.subspan(4, length));
        auto* slot = id == kZip64Extra ? &extra.zip64 : id == kPaddingExtra ? &extra.padding : nullptr;
        if (slot) {
            if (*slot) // two blocks of one kind: readers disagree which one counts
                extra.overruns = true;
            *slot = content;
        }
        field = field.subspan(4u + length);
    }
    return extra;
}

Result<std::optional<LocalHeader>> viewLocalHeader(HeaderWindow& window, uint64_t offset, uint64_t ahead)
{
    SHARDSCOPE_TRY(auto raw, window.view(offset, kLocalBytes, ahead));
    if (get32(&raw[0]) != kLocalSignature)
        return std::optional<LocalHeader>();
    const uint64_t nameBytes = get16(&raw[26]);
    const uint64_t extraBytes = get16(&raw[28]);
    LocalHeader header;
    header.headerBytes = kLocalBytes + nameBytes + extraBytes;
    auto whole = window.view(offset, header.headerBytes, ahead);
    if (!whole)
        return forward(std::move(whole).error());
    raw = *whole;
    header.raw = raw;
    header.flags = get16(&raw[6]);
    header.method = get16(&raw[8]);
    header.crc32 = get32(&raw[14]);
    header.storedBytes = get32(&raw[18]);
    header.inflatedBytes = get32(&raw[22]);
    header.name = textOf(raw.subspan(kLocalBytes, nameBytes));

    const ExtraField extra = parseExtra(raw.subspan(kLocalBytes + nameBytes));
    if (extra.overruns)
        return fail(ErrorCode::Damaged, "a local header's extra field is longer than the header says");
    if (extra.padding) {
        header.padBytes = extra.padding->size();
        header.foreignPadding = extra.padding->find_first_not_of('Z') != std::string_view::npos;
    }
    // torch leaves the 32-bit fields at 0 and still writes the block; others mark them with FFFFFFFF.
    if (extra.zip64 && extra.zip64->size() >= 16) {
        const auto* block = reinterpret_cast<const uint8_t*>(extra.zip64->data());
        if (header.inflatedBytes == 0 || header.inflatedBytes == kMax32)
            header.inflatedBytes = get64(block);
        if (header.storedBytes == 0 || header.storedBytes == kMax32)
            header.storedBytes = get64(block + 8);
    }
    return std::optional<LocalHeader>(header);
}

Result<uint64_t> matchDescriptor(
    HeaderWindow& window, const Entry& entry, uint64_t limitOffset, uint64_t ahead)
{
    const ZipRecord& record = entry.record;
    const uint64_t at = record.payloadOffset + record.bytes;
    const uint64_t room = std::min<uint64_t>(24, limitOffset - std::min(at, limitOffset));
    SHARDSCOPE_TRY(const auto found, window.view(at, room, ahead));
    const auto matches = [&](uint64_t skip, bool wide) {
        const uint64_t length = skip + 4 + (wide ? 16 : 8);
        if (found.size() < length || get32(&found[skip]) != record.crc32)
            return uint64_t{0};
        const uint8_t* sizes = &found[skip + 4];
        const uint64_t stored = wide ? get64(sizes) : get32(sizes);
        const uint64_t inflated = wide ? get64(sizes + 8) : get32(sizes + 4);
        return stored == record.bytes && inflated == record.inflatedBytes ? length : uint64_t{0};
    };
    if (found.size() >= 4 && get32(&found[0]) == kDescriptorSignature) {
        for (const bool wide :
            {needsZip64(record.bytes, record.headerOffset), !needsZip64(record.bytes, record.headerOffset)})
            if (const uint64_t length = matches(4, wide))
                return length;
    }
    for (const bool wide : {false, true})
        if (const uint64_t length = matches(0, wide))
            return length;
    return uint64_t{0};
}

} // namespace shardscope::zip
