// SPDX-License-Identifier: Apache-2.0
#include "core/engine/skeleton/skeleton_zip.h"

#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_format.h"

#include <libdeflate.h>

#include <memory>

namespace shardscope {

namespace {

constexpr uint16_t kVersion = 20; ///< version that a reader needs: folders and deflate
constexpr uint16_t kVersion64 = 45;
constexpr uint16_t kFirstDay = (1 << 5) | 1; ///< 1 January 1980
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr int kLevel = 6;

template <class T>
void put(std::string& out, T value)
{
    for (size_t i = 0; i < sizeof(T); ++i)
        out.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
}

struct CompressorDeleter {
    void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
};

/// Empty if it would not be shorter.
std::string deflated(std::string_view content)
{
    const std::unique_ptr<libdeflate_compressor, CompressorDeleter> compressor(
        libdeflate_alloc_compressor(kLevel));
    if (!compressor || content.empty())
        return {};
    std::string out(content.size(), '\0');
    out.resize(libdeflate_deflate_compress(
        compressor.get(), content.data(), content.size(), out.data(), out.size() - 1));
    return out;
}

/// The common fields of the local header and the directory.
struct RecordFields {
    uint16_t method = kStored;
    uint32_t checksum = 0;
    uint64_t packed = 0; ///< bytes in the archive
    uint64_t bytes = 0;
    size_t nameBytes = 0;
};

void putCommon(std::string& out, const RecordFields& fields, size_t extraBytes)
{
    put(out, zip::kFlagUtf8);
    put(out, fields.method);
    put(out, uint16_t{0});
    put(out, kFirstDay);
    put(out, fields.checksum);
    put(out, static_cast<uint32_t>(fields.packed));
    put(out, static_cast<uint32_t>(fields.bytes));
    put(out, static_cast<uint16_t>(fields.nameBytes));
    put(out, static_cast<uint16_t>(extraBytes));
}

} // namespace

Status SkeletonZip::add(std::string_view name, std::string_view content)
{
    if (content.size() >= zip::kMax32)
        return fail(
            ErrorCode::LimitExceeded, "a record of the skeleton has 4 GiB or more", m_file.path().string());
    const std::string shorter = deflated(content);
    const std::string_view payload = shorter.empty() ? content : std::string_view(shorter);
    const uint16_t method = shorter.empty() ? kStored : kDeflated;
    const uint32_t checksum
        = io::crc32(0, {reinterpret_cast<const uint8_t*>(content.data()), content.size()});
    const RecordFields fields{method, checksum, payload.size(), content.size(), name.size()};
    const bool far = m_at >= zip::kMax32;

    std::string header;
    put(header, zip::kLocalSignature);
    put(header, kVersion);
    putCommon(header, fields, 0);
    header += name;

    put(m_directory, zip::kCentralSignature);
    put(m_directory, far ? kVersion64 : kVersion);
    put(m_directory, far ? kVersion64 : kVersion);
    putCommon(m_directory, fields, far ? 12 : 0);
    m_directory.append(10, '\0'); // no comment, first volume, no attributes
    put(m_directory, far ? zip::kMax32 : static_cast<uint32_t>(m_at));
    m_directory += name;
    if (far) {
        put(m_directory, zip::kZip64Extra);
        put(m_directory, uint16_t{8});
        put(m_directory, m_at);
    }
    ++m_entries;
    SHARDSCOPE_CHECK(write(header));
    return write(payload);
}

Status SkeletonZip::finish()
{
    const uint64_t begin = m_at;
    SHARDSCOPE_CHECK(write(m_directory));
    std::string end;
    zip::appendEnd(end, m_entries, begin, m_directory.size());
    return write(end);
}

Status SkeletonZip::write(std::string_view bytes)
{
    if (!bytes.empty())
        SHARDSCOPE_CHECK(
            m_file.writeAt(m_at, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
    m_at += bytes.size();
    return {};
}

} // namespace shardscope
