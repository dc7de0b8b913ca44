// SPDX-License-Identifier: Apache-2.0
#include "tests/support/torch_archive_builder.h"

#include "core/io/crc32.h"
#include "core/io/file_system.h"
#include "core/torchfile/torch_file.h"
#include "core/torchfile/zip/zip_layout.h"

#include <zlib.h>

#include <cstring>
#include <stdexcept>

namespace shardscope::test {
namespace {

uint32_t crcOf(const std::string& bytes)
{
    return io::crc32(0, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

template <class T>
void put(std::string& out, uint64_t value)
{
    const T narrow = static_cast<T>(value);
    char raw[sizeof narrow];
    std::memcpy(raw, &narrow, sizeof narrow);
    out.append(raw, sizeof narrow);
}

} // namespace

std::string buildTorchArchive(const NamedRecords& records, const std::string& prefix, uint32_t alignment)
{
    std::vector<ZipRecordSpec> specs;
    std::vector<uint32_t> crcs;
    for (const auto& [name, payload] : records) {
        specs.push_back({name, payload.size()});
        crcs.push_back(crcOf(payload));
    }
    const auto layout = ZipLayout::make(prefix, specs, alignment);
    std::string out;
    for (uint32_t i = 0; i < records.size(); ++i)
        out += layout->localHeader(i) + records[i].second + layout->dataDescriptor(i, crcs[i]);
    return out + layout->directory(crcs);
}

std::string buildTorchArchive(
    const std::string& pickle, const std::vector<std::string>& storages, const std::string& byteOrder)
{
    NamedRecords records{{"data.pkl", pickle}, {".format_version", "1"}, {".storage_alignment", "64"},
        {"byteorder", byteOrder}};
    for (size_t i = 0; i < storages.size(); ++i)
        records.emplace_back("data/" + std::to_string(i), storages[i]);
    records.emplace_back("version", "3\n");
    records.emplace_back(".data/serialization_id", std::string(40, '7'));
    return buildTorchArchive(records);
}

std::vector<ForeignRecord> foreignRecordsOf(const std::filesystem::path& archive)
{
    JobContext job;
    const auto file = io::realFileSystem().openRead(archive).value();
    const ZipDirectory zip = ZipDirectory::read(*file, ReadMode::Strict, job).value();
    std::vector<ForeignRecord> out;
    for (const ZipRecord& record : zip.records()) {
        ForeignRecord& foreign = out.emplace_back();
        foreign.name = zip.prefix() + "/" + record.name;
        foreign.payload = readRecord(*file, record, record.bytes).value();
    }
    return out;
}

std::string buildForeignArchive(const std::vector<ForeignRecord>& records, const std::string& comment)
{
    std::string out;
    std::string directory;
    for (const ForeignRecord& record : records) {
        const uint64_t offset = out.size();
        const std::string& localName = record.localName.empty() ? record.name : record.localName;
        const bool compressed = record.inflatedBytes != UINT64_MAX;
        const uint64_t inflated = compressed ? record.inflatedBytes : record.payload.size();
        const uint32_t sum = compressed ? record.inflatedCrc : crcOf(record.payload);
        const uint32_t crc = record.hasCrc ? sum ^ record.crcXor : 0;
        const auto common = [&](std::string& to, uint64_t flags, uint64_t method, const std::string& name,
                                const std::string& extra) {
            put<uint16_t>(to, 20);
            put<uint16_t>(to, flags);
            put<uint16_t>(to, method);
            put<uint32_t>(to, 0x00210000); // 1980-01-01
            put<uint32_t>(to, crc);
            put<uint32_t>(to, record.payload.size());
            put<uint32_t>(to, inflated);
            put<uint16_t>(to, name.size());
            put<uint16_t>(to, extra.size());
        };
        put<uint32_t>(out, 0x04034b50);
        common(out, record.localFlags < 0 ? record.flags : static_cast<uint64_t>(record.localFlags),
            record.localMethod < 0 ? record.method : static_cast<uint64_t>(record.localMethod), localName,
            record.localExtra);
        out += localName + record.localExtra + record.payload;

        put<uint32_t>(directory, 0x02014b50);
        put<uint16_t>(directory, 20);
        common(directory, record.flags, record.method, record.name, record.centralExtra);
        put<uint16_t>(directory, 0);
        put<uint16_t>(directory, 0);
        put<uint16_t>(directory, 0);
        put<uint32_t>(directory, record.externalAttributes);
        put<uint32_t>(directory, offset + static_cast<uint64_t>(record.headerShift));
        directory += record.name + record.centralExtra;
    }
    const uint64_t directoryOffset = out.size();
    out += directory;
    put<uint32_t>(out, 0x06054b50);
    put<uint32_t>(out, 0);
    put<uint16_t>(out, records.size());
    put<uint16_t>(out, records.size());
    put<uint32_t>(out, directory.size());
    put<uint32_t>(out, directoryOffset);
    put<uint16_t>(out, comment.size());
    return out + comment;
}

void compress(ForeignRecord& record, const std::string& text, uint64_t declared)
{
    record.payload.assign(compressBound(text.size()) + 16, '\0');
    z_stream stream{};
    if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("zlib cannot start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(record.payload.data());
    stream.avail_out = static_cast<uInt>(record.payload.size());
    const int ended = deflate(&stream, Z_FINISH);
    record.payload.resize(stream.total_out);
    deflateEnd(&stream);
    if (ended != Z_STREAM_END)
        throw std::runtime_error("zlib cannot compress the text");
    record.method = 8;
    record.inflatedBytes = declared;
    record.inflatedCrc = crcOf(text);
}

} // namespace shardscope::test
