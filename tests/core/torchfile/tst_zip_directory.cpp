// SPDX-License-Identifier: Apache-2.0
#include "core/io/crc32.h"
#include "core/torchfile/zip/zip_directory.h"
#include "core/torchfile/zip/zip_layout.h"
#include "tests/support/memory_file.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

const std::filesystem::path kData = sourceFolder() + "/tests/data/torch";

Result<ZipDirectory> open(const io::ReadFile& file, ReadMode mode = ReadMode::Strict)
{
    JobContext job;
    return ZipDirectory::read(file, mode, job);
}

} // namespace

TEST_CASE("the directory of a real file equals what Python's zipfile reads")
{
    // From zipfile.ZipFile("tiny.pt").infolist().
    struct Row {
        const char* name;
        uint64_t bytes, header;
        uint32_t crc;
    };
    const Row rows[] = {{"data.pkl", 394, 0, 0xe9ba4e6a}, {".format_version", 1, 474, 0x83dcefb7},
        {".storage_alignment", 2, 593, 0xe971773f}, {"byteorder", 6, 722, 0x19e33d85}, {"data/0", 0, 854, 0},
        {"data/1", 0, 960, 0}, {"data/2", 4, 1024, 0xc21cba2e}, {"data/3", 8, 1108, 0x6fe7d670},
        {"version", 2, 1240, 0x55679ed1}, {".data/serialization_id", 40, 1362, 0x142d3ada}};
    const auto file = io::realFileSystem().openRead(kData / "tiny.pt");
    REQUIRE(file);
    const auto zip = open(**file);
    REQUIRE(zip);
    CHECK(zip->prefix() == "tiny");
    CHECK(zip->findings().empty());
    CHECK_FALSE(zip->isRecovered());
    REQUIRE(zip->records().size() == std::size(rows));
    for (size_t i = 0; i < std::size(rows); ++i) {
        const ZipRecord& record = zip->records()[i];
        CAPTURE(rows[i].name);
        CHECK(record.name == rows[i].name);
        CHECK(record.bytes == rows[i].bytes);
        CHECK(record.inflatedBytes == rows[i].bytes);
        CHECK(record.headerOffset == rows[i].header);
        CHECK(record.payloadOffset % 64 == 0);
        CHECK(record.crc32 == rows[i].crc);
        CHECK(record.crcPresent);
        CHECK_FALSE(record.deflated);
        CHECK(zip->find(rows[i].name) == i);
        JobContext job;
        CHECK(checkRecordCrc(**file, record, job));
    }
    CHECK_FALSE(zip->find("DATA.PKL"));
    CHECK_FALSE(zip->find("data"));
    CHECK(readRecord(**file, zip->records()[3], 100).value() == "little");
    CHECK(readRecord(**file, zip->records()[3], 6).has_value());
    CHECK(readRecord(**file, zip->records()[3], 5).error().code == ErrorCode::LimitExceeded);
    CHECK(readRecord(**file, zip->records()[4], 0).value().empty());

    const auto end = ZipDirectory::readEnd(**file);
    REQUIRE(end);
    CHECK(end->entries == std::size(rows));
    CHECK(end->directoryOffset + end->directoryBytes + 98 == (*file)->size());
}

TEST_CASE("names stay right when a directory is moved")
{
    const test::MemoryFile file(test::slurp(kData / "tiny.pt"));
    auto zip = open(file);
    REQUIRE(zip);
    const ZipDirectory moved = std::move(*zip);
    CHECK(moved.find("version") == 8);
}

TEST_CASE("headers are read in windows, payloads not at all")
{
    test::NamedRecords small;
    for (int i = 0; i < 20000; ++i)
        small.emplace_back("data/" + std::to_string(i), std::string(static_cast<size_t>(i % 40), 'x'));
    const test::MemoryFile many(test::buildTorchArchive(small));
    const auto manyZip = open(many);
    REQUIRE(manyZip);
    CHECK(manyZip->isTorchProfile());
    CHECK(manyZip->records().size() == 20000);
    CHECK(many.readCalls() <= many.size() / (1 << 20) + 4);
    CHECK(many.readBytes() <= many.size() + (80 << 10) * (many.size() / (1 << 20) + 2));

    test::NamedRecords large;
    for (int i = 0; i < 10; ++i)
        large.emplace_back("data/" + std::to_string(i), std::string(1 << 20, 'x'));
    const test::MemoryFile few(test::buildTorchArchive(large));
    const auto fewZip = open(few);
    REQUIRE(fewZip);
    CHECK(fewZip->isTorchProfile());
    CHECK(few.readCalls() <= 12);
    CHECK(few.readBytes() <= (68 << 10) + 10 * 1024);

    const auto gigantic = test::MemoryFile::fromSparse(kData / "zip64_payload.sparse");
    REQUIRE(open(*gigantic));
    CHECK(gigantic->readBytes() < 200 << 10);
    REQUIRE(ZipDirectory::readEnd(*gigantic));
}

TEST_CASE("files saved without checksums are reported and still readable")
{
    const test::MemoryFile file(test::slurp(kData / "no_crc.pt"));
    const auto zip = open(file);
    REQUIRE(zip);
    REQUIRE(zip->findings().size() == 1);
    CHECK(zip->findings()[0].code == "record-unchecked");
    CHECK(zip->findings()[0].severity == Severity::Info);
    CHECK_FALSE(zip->records()[*zip->find("data/0")].crcPresent);
    CHECK(zip->records()[*zip->find("data/1")].crcPresent); // empty: nothing to check
    JobContext job;
    CHECK(checkRecordCrc(file, zip->records()[*zip->find("data/0")], job));
    CHECK(readRecord(file, zip->records()[*zip->find("byteorder")], 10).value() == "little");
}

TEST_CASE("a flipped payload byte is found by its checksum")
{
    std::string bytes = test::slurp(kData / "views.pt");
    const test::MemoryFile before(bytes);
    const auto zip = open(before);
    REQUIRE(zip);
    for (const ZipRecord& record : zip->records()) {
        for (uint64_t at = 0; at < record.bytes; ++at) {
            std::string flipped = bytes;
            flipped[record.payloadOffset + at] ^= 0x10;
            const test::MemoryFile file(flipped);
            JobContext job;
            const Status checked = checkRecordCrc(file, record, job);
            REQUIRE_FALSE(checked);
            CHECK(checked.error().code == ErrorCode::Damaged);
            CHECK(checked.error().message.find(record.name) != std::string::npos);
            REQUIRE_FALSE(readRecord(file, record, 1 << 20));
        }
    }
}

TEST_CASE("checking a checksum stops on request and reports progress")
{
    const test::MemoryFile file(test::buildTorchArchive({{"data/0", std::string(3 << 20, 'x')}}));
    const auto zip = open(file);
    REQUIRE(zip);
    uint64_t seen = 0;
    JobContext counting({}, [&](const Progress& progress) { seen = progress.bytesDone; });
    counting.beginPhase("checking", 3 << 20);
    CHECK(checkRecordCrc(file, zip->records()[0], counting));
    std::stop_source stop;
    stop.request_stop();
    JobContext stopped(stop.get_token());
    CHECK(checkRecordCrc(file, zip->records()[0], stopped).error().code == ErrorCode::Cancelled);
    CHECK(ZipDirectory::read(file, ReadMode::Strict, stopped).error().code == ErrorCode::Cancelled);
}

TEST_CASE("a file of another program opens with findings about the differences")
{
    const test::MemoryFile file(test::buildForeignArchive(
        {{"a/data.pkl", "x"}, {"a/data/0", std::string(32, 'y')}, {"a/version", "3"}}));
    const auto zip = open(file);
    REQUIRE(zip);
    CHECK_FALSE(zip->isTorchProfile());
    CHECK(zip->alignment() == 0);
    REQUIRE(zip->findings().size() == 1);
    CHECK(zip->findings()[0].code == "unaligned-payload");
    CHECK(readRecord(file, zip->records()[1], 100).value() == std::string(32, 'y'));
}

TEST_CASE("an unreadable block damages only its own content")
{
    test::NamedRecords records;
    for (int i = 0; i < 6; ++i)
        records.emplace_back("data/" + std::to_string(i), std::string(200 << 10, 'x'));
    test::MemoryFile file(test::buildTorchArchive(records));
    const auto healthy = open(file);
    REQUIRE(healthy);
    file.breakAt(healthy->records()[2].headerOffset + 5);
    CHECK(open(file).error().code == ErrorCode::Unreadable);
    const auto tolerant = open(file, ReadMode::Tolerant);
    REQUIRE(tolerant);
    for (size_t i = 0; i < 6; ++i)
        CHECK(tolerant->records()[i].damaged == (i == 2));
    REQUIRE(tolerant->findings().size() == 1);
    CHECK(tolerant->findings()[0].code == "file-unreadable");
    CHECK(readRecord(file, tolerant->records()[2], 1 << 20).error().code == ErrorCode::Damaged);
    CHECK(readRecord(file, tolerant->records()[3], 1 << 20).has_value());
}
