// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generate_archive.h"

#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_layout.h"

#include <algorithm>
#include <memory>

namespace shardscope::bench {

namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20U;

std::span<const uint8_t> bytesOf(const std::string& text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

uint32_t crcOfZeros(uint64_t bytes)
{
    const uint8_t zero = 0;
    uint32_t crc = 0;
    uint32_t power = io::crc32(0, {&zero, 1}); // of 2^bit zeros
    for (uint64_t bit = 0; bytes >> bit != 0; ++bit) {
        if ((bytes >> bit & 1U) != 0)
            crc = io::crc32Combine(crc, power, uint64_t{1} << bit);
        power = io::crc32Combine(power, power, uint64_t{1} << bit);
    }
    return crc;
}

struct Record {
    std::string name;
    std::string literal;
    const GeneratedStorage* storage = nullptr;
};

std::vector<Record> recordsOf(const std::string& pickle, const std::vector<GeneratedStorage>& storages)
{
    std::vector<Record> records{{"data.pkl", pickle}, {".format_version", "1"}, {".storage_alignment", "64"},
        {"byteorder", "little"}};
    for (size_t i = 0; i < storages.size(); ++i)
        records.push_back({"data/" + std::to_string(i), {}, &storages[i]});
    records.push_back({"version", "3\n"});
    records.push_back({".data/serialization_id", {}});
    return records;
}

/// Puts small writes together: a ZeRO-3 model file has hundreds of thousands of empty records.
class Output
{
public:
    explicit Output(io::WriteFile& file)
        : m_file(file)
    {
    }

    Status put(std::span<const uint8_t> bytes)
    {
        m_pending.insert(m_pending.end(), bytes.begin(), bytes.end());
        return m_pending.size() >= kPieceBytes ? flush() : Status();
    }
    Status flush()
    {
        if (!m_pending.empty())
            SHARDSCOPE_CHECK(m_file.writeAt(m_at, m_pending));
        m_at += m_pending.size();
        m_pending.clear();
        return {};
    }
    Status skip(uint64_t bytes)
    {
        SHARDSCOPE_CHECK(flush());
        m_at += bytes;
        return {};
    }

private:
    io::WriteFile& m_file;
    std::vector<uint8_t> m_pending;
    uint64_t m_at = 0;
};

Result<uint32_t> putStorage(Output& output, const GeneratedStorage& storage, std::vector<uint8_t>& piece)
{
    if (storage.hole) {
        SHARDSCOPE_CHECK(output.skip(storage.bytes));
        return crcOfZeros(storage.bytes);
    }
    uint32_t crc = 0;
    for (uint64_t begin = 0; begin < storage.bytes; begin += kPieceBytes) {
        piece.resize(std::min(kPieceBytes, storage.bytes - begin));
        storage.fill(begin, piece);
        crc = io::crc32(crc, piece);
        SHARDSCOPE_CHECK(output.put(piece));
    }
    return crc;
}

} // namespace

Status writeGeneratedArchive(
    const io::Path& path, const std::string& pickle, const std::vector<GeneratedStorage>& storages)
{
    std::vector<Record> records = recordsOf(pickle, storages);
    records.back().literal.assign(40, '0'); // its size is known, its digits follow from the other records
    std::vector<ZipRecordSpec> specs;
    specs.reserve(records.size());
    for (const Record& record : records)
        specs.push_back(
            {record.name, record.storage != nullptr ? record.storage->bytes : record.literal.size()});
    SHARDSCOPE_TRY(const ZipLayout layout, ZipLayout::make(path.stem().string(), specs));

    SHARDSCOPE_TRY(const std::unique_ptr<io::WriteFile> file, io::realFileSystem().create(path));
    Output output(*file);
    std::vector<uint32_t> crcs;
    crcs.reserve(records.size());
    std::vector<uint8_t> piece;
    for (uint32_t i = 0; i < records.size(); ++i) {
        Record& record = records[i];
        if (i + 1 == records.size()) {
            specs.pop_back();
            record.literal = serializationId(specs, crcs);
        }
        SHARDSCOPE_CHECK(output.put(bytesOf(layout.localHeader(i))));
        if (record.storage != nullptr) {
            SHARDSCOPE_TRY(const uint32_t crc, putStorage(output, *record.storage, piece));
            crcs.push_back(crc);
        } else {
            crcs.push_back(io::crc32(0, bytesOf(record.literal)));
            SHARDSCOPE_CHECK(output.put(bytesOf(record.literal)));
        }
        SHARDSCOPE_CHECK(output.put(bytesOf(layout.dataDescriptor(i, crcs.back()))));
    }
    SHARDSCOPE_CHECK(output.put(bytesOf(layout.directory(crcs))));
    SHARDSCOPE_CHECK(output.flush());
    return file->close();
}

} // namespace shardscope::bench
