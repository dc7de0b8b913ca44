// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <bit>

static_assert(std::endian::native == std::endian::little, "zip fields are read and written in memory order");

namespace shardscope::zip {
namespace {

template <class T>
void put(std::string& out, T value)
{
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out.append(raw, sizeof value);
}
void put16(std::string& out, uint64_t value)
{
    put(out, static_cast<uint16_t>(value));
}
void put32(std::string& out, uint64_t value)
{
    put(out, static_cast<uint32_t>(value));
}
void put64(std::string& out, uint64_t value)
{
    put(out, value);
}

uint64_t clip32(uint64_t value)
{
    return std::min<uint64_t>(value, kMax32);
}
uint64_t clip16(uint64_t value)
{
    return std::min<uint64_t>(value, kMax16);
}

/// Payload of the zip64 extra field: two sizes when the size is too long, the offset when that is.
uint64_t zip64Bytes(uint64_t bytes, uint64_t headerOffset)
{
    return (bytes >= kMax32 ? 16u : 0u) + (headerOffset >= kMax32 ? 8u : 0u);
}

uint16_t flagsOf(uint64_t bytes)
{
    return bytes == 0 ? kFlagUtf8 : static_cast<uint16_t>(kFlagUtf8 | kFlagDescriptor);
}

} // namespace

uint64_t unpaddedHeaderBytes(uint64_t nameBytes, uint64_t bytes, uint64_t headerOffset)
{
    const uint64_t zip64 = needsZip64(bytes, headerOffset) ? 4 + zip64Bytes(bytes, headerOffset) : 0;
    return kLocalBytes + nameBytes + zip64 + 4;
}

uint64_t descriptorBytes(uint64_t bytes, uint64_t headerOffset)
{
    if (bytes == 0)
        return 0;
    return needsZip64(bytes, headerOffset) ? 24 : 16;
}

uint64_t centralEntryBytes(uint64_t nameBytes, uint64_t bytes, uint64_t headerOffset)
{
    return kCentralBytes + nameBytes
        + (needsZip64(bytes, headerOffset) ? 4 + zip64Bytes(bytes, headerOffset) : 0);
}

void appendLocalHeader(std::string& out, std::string_view prefix, std::string_view name, uint64_t bytes,
    uint64_t headerOffset, uint64_t padBytes)
{
    const uint64_t nameBytes = prefix.size() + 1 + name.size();
    put32(out, kLocalSignature);
    put16(out, 0); // version needed
    put16(out, flagsOf(bytes));
    put16(out, 0); // method: stored
    put32(out, 0); // time and date
    put32(out, 0); // CRC and sizes are in the descriptor
    put32(out, 0);
    put32(out, 0);
    put16(out, nameBytes);
    put16(out, unpaddedHeaderBytes(nameBytes, bytes, headerOffset) - kLocalBytes - nameBytes + padBytes);
    out.append(prefix).append(1, '/').append(name);
    if (needsZip64(bytes, headerOffset)) {
        put16(out, kZip64Extra);
        put16(out, zip64Bytes(bytes, headerOffset));
        if (bytes >= kMax32) {
            put64(out, bytes);
            put64(out, 0); // the compressed size was not known yet
        }
        if (headerOffset >= kMax32)
            put64(out, headerOffset);
    }
    put16(out, kPaddingExtra);
    put16(out, padBytes);
    out.append(padBytes, 'Z');
}

void appendDescriptor(std::string& out, uint64_t bytes, uint64_t headerOffset, uint32_t crc32)
{
    if (bytes == 0)
        return;
    put32(out, kDescriptorSignature);
    put32(out, crc32);
    for (int i = 0; i < 2; ++i) {
        if (needsZip64(bytes, headerOffset))
            put64(out, bytes);
        else
            put32(out, bytes);
    }
}

void appendCentralEntry(std::string& out, std::string_view prefix, std::string_view name, uint64_t bytes,
    uint64_t headerOffset, uint32_t crc32)
{
    const uint64_t nameBytes = prefix.size() + 1 + name.size();
    put32(out, kCentralSignature);
    put16(out, 0); // made by
    put16(out, 0); // version needed
    put16(out, flagsOf(bytes));
    put16(out, 0); // method: stored
    put32(out, 0); // time and date
    put32(out, crc32);
    put32(out, clip32(bytes));
    put32(out, clip32(bytes));
    put16(out, nameBytes);
    put16(out, centralEntryBytes(nameBytes, bytes, headerOffset) - kCentralBytes - nameBytes);
    put16(out, 0); // comment
    put16(out, 0); // disk
    put16(out, 0); // internal attributes
    put32(out, 0); // external attributes
    put32(out, clip32(headerOffset));
    out.append(prefix).append(1, '/').append(name);
    if (needsZip64(bytes, headerOffset)) {
        put16(out, kZip64Extra);
        put16(out, zip64Bytes(bytes, headerOffset));
        if (bytes >= kMax32) {
            put64(out, bytes);
            put64(out, bytes);
        }
        if (headerOffset >= kMax32)
            put64(out, headerOffset);
    }
}

void appendEnd(std::string& out, uint64_t entries, uint64_t directoryOffset, uint64_t directoryBytes)
{
    put32(out, kZip64EndSignature);
    put64(out, kZip64EndBytes - 12);
    put16(out, 0x031E); // made by
    put16(out, 45); // version needed
    put32(out, 0); // this disk
    put32(out, 0); // disk of the directory
    put64(out, entries);
    put64(out, entries);
    put64(out, directoryBytes);
    put64(out, directoryOffset);

    put32(out, kZip64LocatorSignature);
    put32(out, 0);
    put64(out, directoryOffset + directoryBytes);
    put32(out, 1); // disks

    put32(out, kEndSignature);
    put16(out, 0);
    put16(out, 0);
    put16(out, clip16(entries));
    put16(out, clip16(entries));
    put32(out, clip32(directoryBytes));
    put32(out, clip32(directoryOffset));
    put16(out, 0); // comment
}

} // namespace shardscope::zip
