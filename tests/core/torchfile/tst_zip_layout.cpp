// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/zip/zip_directory.h"
#include "core/torchfile/zip/zip_layout.h"
#include "tests/support/memory_file.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

const std::filesystem::path kData = sourceFolder() + "/tests/data/torch";

struct Taken {
    ZipDirectory zip;
    std::vector<ZipRecordSpec> specs;
    std::vector<uint32_t> crcs;
};

Taken take(const io::ReadFile& file)
{
    JobContext job;
    auto zip = ZipDirectory::read(file, ReadMode::Strict, job);
    REQUIRE(zip);
    Taken taken{std::move(*zip), {}, {}};
    for (const ZipRecord& record : taken.zip.records()) {
        taken.specs.push_back({record.name, record.bytes});
        taken.crcs.push_back(record.crc32);
    }
    return taken;
}

} // namespace

TEST_CASE("torch's own files are rebuilt byte for byte from their records")
{
    const std::pair<const char*, uint32_t> files[] = {{"dtypes.pt", 64}, {"tiny.pt", 64}, {"views.pt", 64},
        {"many.pt", 64}, {"file_object.pt", 64}, {"no_crc.pt", 64}, {"aligned_256.pt", 256}};
    for (const auto& [name, alignment] : files) {
        CAPTURE(name);
        const std::string original = test::slurp(kData / name);
        const test::MemoryFile file(original);
        const Taken taken = take(file);
        CHECK(taken.zip.isTorchProfile());
        REQUIRE(taken.zip.alignment() == alignment);
        const auto layout = ZipLayout::make(taken.zip.prefix(), taken.specs, alignment);
        REQUIRE(layout);
        CHECK(layout->totalBytes() == original.size());
        std::string rebuilt;
        for (uint32_t i = 0; i < taken.specs.size(); ++i) {
            CHECK(layout->headerOffset(i) == rebuilt.size());
            rebuilt += layout->localHeader(i);
            CHECK(layout->payloadOffset(i) == rebuilt.size());
            const auto payload = readRecord(file, taken.zip.records()[i], 1 << 20);
            REQUIRE(payload);
            rebuilt += *payload;
            rebuilt += layout->dataDescriptor(i, taken.crcs[i]);
        }
        CHECK(layout->directoryOffset() == rebuilt.size());
        rebuilt += layout->directory(taken.crcs);
        CHECK(rebuilt == original);
    }
}

TEST_CASE("headers of files beyond 4 GiB equal torch's byte for byte")
{
    for (const char* name : {"zip64_payload.sparse", "zip64_offset.sparse"}) {
        CAPTURE(name);
        const auto file = test::MemoryFile::fromSparse(kData / name);
        REQUIRE(file->size() > 0xFFFFFFFFu);
        const Taken taken = take(*file);
        CHECK(taken.zip.isTorchProfile());
        CHECK(taken.zip.findings().empty());
        const auto layout = ZipLayout::make(taken.zip.prefix(), taken.specs);
        REQUIRE(layout);
        CHECK(layout->totalBytes() == file->size());
        for (uint32_t i = 0; i < taken.specs.size(); ++i) {
            CAPTURE(taken.specs[i].name);
            const std::string header = layout->localHeader(i);
            CHECK(file->bytesAt(layout->headerOffset(i), header.size()) == header);
            CHECK(layout->payloadOffset(i) == layout->headerOffset(i) + header.size());
            CHECK(layout->payloadOffset(i) == taken.zip.records()[i].payloadOffset);
            const std::string descriptor = layout->dataDescriptor(i, taken.crcs[i]);
            CHECK(file->bytesAt(layout->payloadOffset(i) + taken.specs[i].bytes, descriptor.size())
                == descriptor);
        }
        const std::string directory = layout->directory(taken.crcs);
        CHECK(file->bytesAt(layout->directoryOffset(), directory.size()) == directory);
    }
    // Which rule each file exercises, so that a changed fixture that exercises no rule fails.
    const Taken payload = take(*test::MemoryFile::fromSparse(kData / "zip64_payload.sparse"));
    CHECK(payload.zip.records()[*payload.zip.find("data/0")].bytes == 0xFFFFFFFFull + 6);
    const Taken offset = take(*test::MemoryFile::fromSparse(kData / "zip64_offset.sparse"));
    CHECK(offset.zip.records()[*offset.zip.find("data/1")].bytes == 0xFFFFFFFFull - 1);
    CHECK(offset.zip.records()[*offset.zip.find("data/2")].headerOffset > 0xFFFFFFFFull);
    CHECK(offset.zip.records()[*offset.zip.find("data/3")].bytes == 0);
}

TEST_CASE("an impossible layout is refused")
{
    CHECK(ZipLayout::make("a", {}).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("", {{"x", 1}}).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{"", 1}}).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{"x", 1}, {"x", 2}}).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{std::string(70000, 'n'), 1}}).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{"x", 1}}, 0).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{"x", 1}}, 65536).error().code == ErrorCode::Usage);
    CHECK(ZipLayout::make("a", {{"x", UINT64_MAX}}).error().code == ErrorCode::LimitExceeded);
    CHECK(ZipLayout::make("a", {{"x", UINT64_MAX / 2}, {"y", UINT64_MAX / 2}, {"z", 9}}).error().code
        == ErrorCode::LimitExceeded);
    CHECK(ZipLayout::make("a", {{"x", uint64_t{1} << 62}}).has_value());
}

TEST_CASE("payloads are aligned for any lengths of names and payloads")
{
    std::vector<ZipRecordSpec> specs;
    for (uint32_t i = 0; i < 300; ++i)
        specs.push_back({std::string(1 + i % 97, 'n') + std::to_string(i), (i * 7919u) % 1000u});
    for (const uint32_t alignment : {1u, 2u, 64u, 100u, 4096u, 32768u}) {
        const auto layout = ZipLayout::make("p", specs, alignment);
        REQUIRE(layout);
        for (uint32_t i = 0; i < specs.size(); ++i) {
            CHECK(layout->payloadOffset(i) % alignment == 0);
            CHECK(layout->localHeader(i).size() == layout->payloadOffset(i) - layout->headerOffset(i));
        }
    }
}

TEST_CASE("the serialization id has torch's form and depends on all that it identifies")
{
    const std::string id = serializationId({{"data.pkl", 3}, {"data/0", 8}}, {1, 2});
    CHECK(id.size() == 40);
    CHECK(id.find_first_not_of("0123456789") == std::string::npos);
    CHECK(id == serializationId({{"data.pkl", 3}, {"data/0", 8}}, {1, 2}));
    CHECK(id != serializationId({{"data.pkl", 3}, {"data/1", 8}}, {1, 2}));
    CHECK(id != serializationId({{"data.pkl", 3}, {"data/0", 9}}, {1, 2}));
    CHECK(id != serializationId({{"data.pkl", 3}, {"data/0", 8}}, {1, 3}));
    CHECK(id != serializationId({{"data/0", 8}, {"data.pkl", 3}}, {2, 1}));
    CHECK(id != serializationId({{"data.pkl", 3}}, {1}));
}
