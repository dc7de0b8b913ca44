// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory_record.h"

#include "core/io/crc32.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace shardscope {
namespace {

constexpr uint64_t kChunkBytes = 1 << 20;
/// The most that one byte of deflate can become.
constexpr uint64_t kDeflateRatio = 1032;

using Sink = std::function<void(std::span<const uint8_t>)>;

tl::unexpected<Error> damaged(const io::ReadFile& file, const ZipRecord& record, std::string_view why)
{
    return fail(ErrorCode::Damaged, "record '" + record.name + "' " + std::string(why), file.path().string());
}

/// zlib's inflater for raw deflate, freed on every way out.
struct Inflater {
    z_stream stream{};
    bool ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK;

    Inflater() = default;
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater()
    {
        if (ready)
            inflateEnd(&stream);
    }
};

Status readPieces(const io::ReadFile& file, const ZipRecord& record, JobContext& job, const Sink& sink)
{
    std::vector<uint8_t> chunk(std::min(record.bytes, kChunkBytes));
    for (uint64_t done = 0; done < record.bytes;) {
        SHARDSCOPE_CHECK(job.poll());
        const std::span<uint8_t> part(chunk.data(), std::min(record.bytes - done, kChunkBytes));
        SHARDSCOPE_CHECK(file.readAt(record.payloadOffset + done, part));
        sink(part);
        job.advance(part.size());
        done += part.size();
    }
    return {};
}

Status inflatePieces(const io::ReadFile& file, const ZipRecord& record, JobContext& job, const Sink& sink)
{
    if (record.inflatedBytes / kDeflateRatio > record.bytes)
        return fail(ErrorCode::Hostile,
            "record '" + record.name + "' declares a size that deflate cannot reach", file.path().string());
    Inflater inflater;
    if (!inflater.ready)
        return fail(ErrorCode::LimitExceeded, "there is not enough memory to decompress a record",
            file.path().string());
    std::vector<uint8_t> out(std::min(record.inflatedBytes + 1, kChunkBytes));
    uint64_t produced = 0;
    int state = Z_OK;
    bool tooLong = false;
    const Status status = readPieces(file, record, job, [&](std::span<const uint8_t> piece) {
        inflater.stream.next_in = const_cast<Bytef*>(piece.data()); // zlib 1.2 does not have the const
        inflater.stream.avail_in = static_cast<uInt>(piece.size());
        // At most one byte more than declared is ever produced.
        while (
            state == Z_OK && !tooLong && (inflater.stream.avail_in > 0 || inflater.stream.avail_out == 0)) {
            const uint64_t room = std::min<uint64_t>(out.size(), record.inflatedBytes + 1 - produced);
            inflater.stream.next_out = out.data();
            inflater.stream.avail_out = static_cast<uInt>(room);
            state = inflate(&inflater.stream, Z_NO_FLUSH);
            const uint64_t made = room - inflater.stream.avail_out;
            produced += made;
            tooLong = produced > record.inflatedBytes;
            if (!tooLong)
                sink({out.data(), made});
            if (state == Z_BUF_ERROR) { // wants more input
                state = Z_OK;
                break;
            }
        }
        if (state == Z_STREAM_END && inflater.stream.avail_in > 0)
            tooLong = true;
    });
    SHARDSCOPE_CHECK(status);
    if (tooLong)
        return fail(ErrorCode::Hostile, "record '" + record.name + "' is longer than it declares",
            file.path().string());
    if (state != Z_STREAM_END || produced != record.inflatedBytes)
        return damaged(file, record, "cannot be decompressed");
    return {};
}

Result<uint32_t> readWhole(
    const io::ReadFile& file, const ZipRecord& record, JobContext& job, const Sink& sink)
{
    if (record.damaged)
        return damaged(file, record, "has no valid header and cannot be read");
    uint32_t crc = 0;
    const auto take = [&](std::span<const uint8_t> piece) {
        crc = io::crc32(crc, piece);
        sink(piece);
    };
    SHARDSCOPE_CHECK(
        record.deflated ? inflatePieces(file, record, job, take) : readPieces(file, record, job, take));
    return crc;
}

} // namespace

Result<UncheckedRecord> readRecordUnchecked(
    const io::ReadFile& file, const ZipRecord& record, uint64_t limitBytes)
{
    if (record.inflatedBytes > limitBytes)
        return fail(ErrorCode::LimitExceeded,
            "record '" + record.name + "' has " + std::to_string(record.inflatedBytes)
                + " bytes, the limit is " + std::to_string(limitBytes),
            file.path().string());
    UncheckedRecord result;
    // A declared size is believed as far as the file could really hold it.
    result.bytes.reserve(std::min(record.inflatedBytes, record.deflated ? kChunkBytes : file.size()));
    JobContext job;
    SHARDSCOPE_TRY(const uint32_t crc, readWhole(file, record, job, [&](std::span<const uint8_t> piece) {
        result.bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }));
    result.crcMatches = !record.crcPresent || crc == record.crc32;
    return result;
}

Result<std::string> readRecord(const io::ReadFile& file, const ZipRecord& record, uint64_t limitBytes)
{
    SHARDSCOPE_TRY(UncheckedRecord read, readRecordUnchecked(file, record, limitBytes));
    if (!read.crcMatches)
        return damaged(file, record, "is damaged: its checksum is wrong");
    return std::move(read.bytes);
}

Status checkRecordCrc(const io::ReadFile& file, const ZipRecord& record, JobContext& job)
{
    SHARDSCOPE_TRY(const uint32_t crc, readWhole(file, record, job, [](std::span<const uint8_t>) {}));
    if (record.crcPresent && crc != record.crc32)
        return damaged(file, record, "is damaged: its checksum is wrong");
    return {};
}

} // namespace shardscope
