// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// The bytes of torch's zip profile. Sources: PKWARE APPNOTE 6.3 for the fields,
/// caffe2/serialize/inline_container.cc and third_party/miniz for the values that torch writes. Everything is
/// little-endian.
namespace shardscope::zip {

inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr uint32_t kDescriptorSignature = 0x08074b50;
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr uint32_t kZip64LocatorSignature = 0x07064b50;
inline constexpr uint32_t kEndSignature = 0x06054b50;

inline constexpr uint64_t kLocalBytes = 30;
inline constexpr uint64_t kCentralBytes = 46;
inline constexpr uint64_t kZip64EndBytes = 56;
inline constexpr uint64_t kZip64LocatorBytes = 20;
inline constexpr uint64_t kEndBytes = 22;

inline constexpr uint16_t kZip64Extra = 0x0001;
inline constexpr uint16_t kPaddingExtra = 0x4246; ///< "FB": torch's padding before a payload
inline constexpr uint16_t kFlagEncrypted = 0x0001;
inline constexpr uint16_t kFlagDescriptor = 0x0008;
inline constexpr uint16_t kFlagStrongEncryption = 0x0040;
inline constexpr uint16_t kFlagUtf8 = 0x0800;
inline constexpr uint16_t kFlagMaskedHeader = 0x2000;

inline constexpr uint32_t kMax32 = 0xFFFFFFFFu; ///< "look in the zip64 extra field"
inline constexpr uint16_t kMax16 = 0xFFFFu;

template <class T>
T get(const uint8_t* at)
{
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
}
inline uint16_t get16(const uint8_t* at)
{
    return get<uint16_t>(at);
}
inline uint32_t get32(const uint8_t* at)
{
    return get<uint32_t>(at);
}
inline uint64_t get64(const uint8_t* at)
{
    return get<uint64_t>(at);
}

/// Whether torch's writer uses 64-bit fields for a record of this size at this header offset.
constexpr bool needsZip64(uint64_t bytes, uint64_t headerOffset)
{
    return bytes >= kMax32 || headerOffset >= kMax32;
}
/// Local header, name and extra fields up to the padding bytes, for a name of this length (prefix included).
uint64_t unpaddedHeaderBytes(uint64_t nameBytes, uint64_t bytes, uint64_t headerOffset);
/// 0, 16 or 24.
uint64_t descriptorBytes(uint64_t bytes, uint64_t headerOffset);
uint64_t centralEntryBytes(uint64_t nameBytes, uint64_t bytes, uint64_t headerOffset);

/// Each appends to `out` exactly what torch's writer writes.
void appendLocalHeader(std::string& out, std::string_view prefix, std::string_view name, uint64_t bytes,
    uint64_t headerOffset, uint64_t padBytes);
void appendDescriptor(std::string& out, uint64_t bytes, uint64_t headerOffset, uint32_t crc32);
void appendCentralEntry(std::string& out, std::string_view prefix, std::string_view name, uint64_t bytes,
    uint64_t headerOffset, uint32_t crc32);
void appendEnd(std::string& out, uint64_t entries, uint64_t directoryOffset, uint64_t directoryBytes);

} // namespace shardscope::zip
