// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_checksums.h"

#include "core/torchfile/zip/zip_format.h"

#include <cstring>

namespace shardscope {

namespace {

// The places of the fields. Source: PKWARE APPNOTE 6.3, 4.3.7, 4.3.9 and 4.3.12.
constexpr uint64_t kLocalFlags = 6;
constexpr uint64_t kLocalChecksum = 14;
constexpr uint64_t kDescriptorChecksum = 4; ///< after the signature
constexpr uint64_t kCentralChecksum = 16;
constexpr uint64_t kCentralNameBytes = 28;

uint32_t number(std::span<const char> at)
{
    return zip::get32(reinterpret_cast<const uint8_t*>(at.data()));
}

void put(std::span<char> at, uint32_t value)
{
    std::memcpy(at.data(), &value, sizeof value);
}

/// In the local header, and in the descriptor after the payload.
void setLocal(KeptBytes& kept, const ZipRecord& record, uint32_t checksum)
{
    const std::span<char> header = kept.at(record.headerOffset, zip::kLocalBytes);
    if (header.empty())
        return;
    const std::span<char> own = header.subspan(kLocalChecksum, sizeof checksum);
    const bool deferred
        = (zip::get16(reinterpret_cast<const uint8_t*>(header.data()) + kLocalFlags) & zip::kFlagDescriptor)
        != 0;
    if (number(own) != 0)
        put(own, checksum);
    if (!deferred)
        return;
    const std::span<char> descriptor
        = kept.at(record.payloadOffset + record.bytes, kDescriptorChecksum + sizeof checksum);
    if (descriptor.empty())
        return;
    const bool isSigned = number(descriptor) == zip::kDescriptorSignature;
    put(descriptor.subspan(isSigned ? kDescriptorChecksum : 0), checksum);
}

} // namespace

Status setChecksums(KeptBytes& kept, const ZipDirectory& zip, const ZipDirectory::EndInfo& end,
    const std::unordered_map<std::string, uint32_t>& checksums)
{
    for (const ZipRecord& record : zip.records()) {
        const auto found = checksums.find(record.name);
        if (found != checksums.end() && !record.damaged)
            setLocal(kept, record, found->second);
    }
    const std::span<char> directory = kept.at(end.directoryOffset, end.directoryBytes);
    for (uint64_t at = 0; at < directory.size();) {
        const std::span<char> rest = directory.subspan(at);
        const auto* raw = reinterpret_cast<const uint8_t*>(rest.data());
        if (rest.size() < zip::kCentralBytes || zip::get32(raw) != zip::kCentralSignature)
            return fail(ErrorCode::Damaged, "the archive's directory is damaged");
        const uint64_t nameBytes = zip::get16(raw + kCentralNameBytes);
        const uint64_t length = zip::kCentralBytes + nameBytes + zip::get16(raw + kCentralNameBytes + 2)
            + zip::get16(raw + kCentralNameBytes + 4);
        if (rest.size() < length)
            return fail(ErrorCode::Damaged, "the archive's directory ends in the middle of a record");
        const std::string_view name(rest.data() + zip::kCentralBytes, nameBytes);
        const size_t slash = name.find('/');
        const auto found = slash == std::string_view::npos
            ? checksums.end()
            : checksums.find(std::string(name.substr(slash + 1)));
        if (found != checksums.end())
            put(rest.subspan(kCentralChecksum), found->second);
        at += length;
    }
    return {};
}

} // namespace shardscope
