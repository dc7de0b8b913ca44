// SPDX-License-Identifier: Apache-2.0
// Malicious archives, made to mislead or crash a reader; Z numbers are rows of the catalogue of hostile
// inputs.
#include "core/torchfile/zip/zip_directory.h"
#include "tests/support/memory_file.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace shardscope;
using test::buildForeignArchive;
using test::ForeignRecord;

namespace {

const test::NamedRecords kPlain{
    {"data.pkl", "pickle"}, {"data/0", std::string(100, 'x')}, {"data/1", ""}, {"version", "3\n"}};

Result<ZipDirectory> open(const std::string& bytes, ReadMode mode)
{
    const test::MemoryFile file(bytes);
    JobContext job;
    return ZipDirectory::read(file, mode, job);
}

void checkRefused(const std::string& bytes, ErrorCode code, const std::string& word)
{
    for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant}) {
        const auto zip = open(bytes, mode);
        REQUIRE_FALSE(zip);
        CAPTURE(zip.error().message);
        CHECK(zip.error().code == code);
        CHECK(zip.error().message.find(word) != std::string::npos);
        CHECK(zip.error().path == "memory.pt");
    }
}

/// Opens in Tolerant mode with exactly this finding.
ZipDirectory checkWarned(const std::string& bytes, std::string_view code)
{
    auto zip = open(bytes, ReadMode::Tolerant);
    REQUIRE(zip);
    REQUIRE(zip->findings().size() == 1);
    CHECK(zip->findings()[0].code == code);
    CHECK_FALSE(zip->isTorchProfile());
    return std::move(*zip);
}

template <class T>
T peek(const std::string& bytes, size_t at)
{
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <class T>
std::string poked(std::string bytes, size_t at, T value)
{
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
}

/// Positions in an archive that torch's layout produced.
struct Ends {
    size_t end, locator, zip64, directory;
    explicit Ends(const std::string& bytes)
        : end(bytes.size() - 22)
        , locator(end - 20)
        , zip64(locator - 56)
        , directory(peek<uint64_t>(bytes, zip64 + 48))
    {
    }
};

/// `second` behind `first`, with all its offsets repaired.
std::string behind(const std::string& first, const std::string& second)
{
    std::string out = second;
    const Ends ends(second);
    const auto shift = [&](size_t at, auto value) { // of the field's width
        out = poked(out, at, static_cast<decltype(value)>(peek<decltype(value)>(out, at) + first.size()));
    };
    shift(ends.zip64 + 48, uint64_t{});
    shift(ends.locator + 8, uint64_t{});
    shift(ends.end + 16, uint32_t{});
    for (size_t at = ends.directory; at < ends.zip64; at += 46u + peek<uint16_t>(out, at + 28))
        shift(at + 42, uint32_t{});
    return first + out;
}

ForeignRecord compressed(const std::string& name, const std::string& text, uint64_t declared)
{
    ForeignRecord record{name, {}};
    test::compress(record, text, declared);
    return record;
}

} // namespace

TEST_CASE("Z01 Z02 Z08: files that are not archives")
{
    checkRefused("", ErrorCode::Damaged, "empty");
    checkRefused("PK", ErrorCode::Damaged, "too short");
    checkRefused(std::string(5000, 'r'), ErrorCode::Damaged, "does not begin");
    checkRefused(std::string(8, 'j') + test::buildTorchArchive(kPlain), ErrorCode::Damaged, "does not begin");
}

TEST_CASE("Z06: bytes behind the archive")
{
    const std::string bytes = test::buildTorchArchive(kPlain);
    const std::string longer = bytes + std::string(333, '\0');
    CHECK(open(longer, ReadMode::Strict).error().code == ErrorCode::Damaged);
    const ZipDirectory zip = checkWarned(longer, "trailing-data");
    CHECK(zip.findings()[0].message.find("333 bytes") != std::string::npos);
    CHECK(zip.records().size() == 4);
}

TEST_CASE("Z07: two archives one behind the other")
{
    const std::string bytes = test::buildTorchArchive(kPlain);
    checkRefused(bytes + bytes, ErrorCode::Hostile, "two archives");
    checkRefused(bytes + buildForeignArchive({{"a/x", "y"}}), ErrorCode::Hostile, "two archives");
    // The second one's offsets repaired, so that it is consistent: the first is what a streaming reader sees.
    const std::string longOne = test::buildTorchArchive({{"data.pkl", std::string(100'000, 'x')}});
    checkRefused(behind(bytes, bytes), ErrorCode::Hostile, "two end records");
    checkRefused(behind(bytes, longOne), ErrorCode::Hostile, "before the archive's first record");
    checkRefused(behind("PK\x03\x04junk", bytes), ErrorCode::Hostile, "before the archive's first record");
}

TEST_CASE("Z09: an end record inside the comment")
{
    const std::string inner = buildForeignArchive({{"a/data.pkl", "x"}});
    const std::string innerEnd = inner.substr(inner.size() - 22);
    const auto zip = open(buildForeignArchive({{"a/data.pkl", "x"}}, "hello"), ReadMode::Strict);
    REQUIRE(zip);
    CHECK(zip->findings()[0].code == "trailing-data");
    // A copy of the end record points to the same directory from too far back.
    CHECK_FALSE(open(buildForeignArchive({{"a/data.pkl", "x"}}, innerEnd), ReadMode::Strict));
    // A whole second directory in the comment, with right offsets.
    std::string fake = buildForeignArchive({{"a/data.pkl", "x"}}, inner.substr(inner.size() - 78));
    const size_t directory = fake.size() - 78 + (78 - 22 - peek<uint32_t>(inner, inner.size() - 10));
    fake = poked(fake, fake.size() - 6, static_cast<uint32_t>(directory));
    checkRefused(fake, ErrorCode::Hostile, "two end records");
}

TEST_CASE("Z10 Z11 Z12 Z13: end records that contradict each other or the file")
{
    const std::string bytes = test::buildTorchArchive(kPlain);
    const Ends ends(bytes);
    const auto refused = [&](const std::string& changed, ErrorCode code = ErrorCode::Damaged) {
        for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant}) {
            const auto zip = open(changed, mode);
            REQUIRE_FALSE(zip);
            CAPTURE(zip.error().message);
            CHECK(zip.error().code == code);
        }
    };
    refused(poked(bytes, ends.locator + 8, uint64_t{1} << 60));
    refused(poked(bytes, ends.locator + 8, uint64_t{ends.locator}));
    refused(poked(bytes, ends.zip64 + 4, uint64_t{45}));
    refused(poked(bytes, ends.zip64, uint32_t{0}));
    refused(poked(bytes, ends.end + 10, uint16_t{3}), ErrorCode::Unsupported);
    refused(poked(poked(bytes, ends.end + 8, uint16_t{3}), ends.end + 10, uint16_t{3}));
    refused(poked(bytes, ends.end + 12, uint32_t{7}));
    refused(poked(bytes, ends.end + 16, uint32_t{7}));
    refused(poked(bytes, ends.end + 4, uint16_t{1}), ErrorCode::Unsupported);
    refused(poked(bytes, ends.zip64 + 16, uint32_t{1}), ErrorCode::Unsupported);
    refused(poked(bytes, ends.locator + 16, uint32_t{2}), ErrorCode::Unsupported);

    const auto both = [&](uint64_t entries, uint64_t directoryBytes, uint64_t offset) {
        std::string changed = poked(poked(bytes, ends.zip64 + 24, entries), ends.zip64 + 32, entries);
        changed = poked(poked(changed, ends.zip64 + 40, directoryBytes), ends.zip64 + 48, offset);
        const auto clip16 = static_cast<uint16_t>(std::min<uint64_t>(entries, 0xFFFF));
        changed = poked(poked(changed, ends.end + 8, clip16), ends.end + 10, clip16);
        changed = poked(
            changed, ends.end + 12, static_cast<uint32_t>(std::min<uint64_t>(directoryBytes, 0xFFFFFFFF)));
        return poked(changed, ends.end + 16, static_cast<uint32_t>(std::min<uint64_t>(offset, 0xFFFFFFFF)));
    };
    const uint64_t size = ends.zip64 - ends.directory;
    REQUIRE(both(4, size, ends.directory) == bytes);
    refused(both(4, size, uint64_t{1} << 40));
    refused(both(4, uint64_t{1} << 29, ends.directory));
    refused(both(4, UINT64_MAX - ends.directory + 1, ends.directory), ErrorCode::LimitExceeded);
    refused(both(0xFFFFFFFF, size, ends.directory), ErrorCode::LimitExceeded);
    refused(both(3'999'999, size, ends.directory));
    refused(both(0, 0, ends.zip64));
    refused(both(3, size, ends.directory).replace(0, 1, "Q"));
}

TEST_CASE("Z14 Z15 Z16: local headers that differ from the directory")
{
    const auto one = [](auto change) {
        ForeignRecord record{"a/data.pkl", "content"};
        change(record);
        return buildForeignArchive({record});
    };
    REQUIRE(open(one([](ForeignRecord&) {}), ReadMode::Strict));
    checkRefused(one([](ForeignRecord& r) { r.localName = "a/data.pkx"; }), ErrorCode::Hostile, "name");
    checkRefused(one([](ForeignRecord& r) { r.localName = "a/data.pkl2"; }), ErrorCode::Hostile, "name");
    checkRefused(one([](ForeignRecord& r) { r.localMethod = 8; }), ErrorCode::Hostile, "method");
    checkRefused(one([](ForeignRecord& r) { r.localFlags = 0x0800; }), ErrorCode::Hostile, "flags");
    checkRefused(one([](ForeignRecord& r) { r.localFlags = 1; }), ErrorCode::Hostile, "flags");
    checkRefused(one([](ForeignRecord& r) { r.flags = 1; }), ErrorCode::Hostile, "encrypted");
    checkRefused(one([](ForeignRecord& r) { r.method = 12; }), ErrorCode::Unsupported, "method 12");
    const std::string bytes = one([](ForeignRecord&) {});
    checkRefused(poked(bytes, 14, uint32_t{99}), ErrorCode::Hostile, "checksum");
    checkRefused(poked(bytes, 18, uint32_t{6}), ErrorCode::Hostile, "size");
    checkRefused(poked(bytes, 22, uint32_t{6}), ErrorCode::Hostile, "size");
    // If a descriptor is declared, zeros are as valid as the value, and other numbers are not.
    const std::string torchs = test::buildTorchArchive(kPlain);
    checkRefused(poked(torchs, 14, uint32_t{99}), ErrorCode::Hostile, "checksum");
    checkRefused(poked(torchs, 22, uint32_t{99}), ErrorCode::Hostile, "size");
    // A stored record with two sizes: torch would show memory that it never filled.
    const Ends ends(torchs);
    checkRefused(poked(torchs, ends.directory + 20, uint32_t{3}), ErrorCode::Hostile, "two different sizes");
}

TEST_CASE("Z17: a local header is missing")
{
    const std::string bytes = test::buildTorchArchive(kPlain);
    const auto healthy = open(bytes, ReadMode::Strict);
    REQUIRE(healthy);
    const std::string changed = poked(bytes, healthy->records()[1].headerOffset, uint32_t{0});
    CHECK(open(changed, ReadMode::Strict).error().code == ErrorCode::Damaged);
    const ZipDirectory zip = checkWarned(changed, "record-corrupt");
    CHECK(zip.findings()[0].severity == Severity::Error);
    CHECK(zip.records()[1].damaged);
    const test::MemoryFile file(changed);
    CHECK(readRecord(file, zip.records()[1], 1000).error().code == ErrorCode::Damaged);
    CHECK(readRecord(file, zip.records()[0], 1000).value() == "pickle");
}

TEST_CASE("Z18 Z19: records that overlap or are outside")
{
    ForeignRecord first{"a/data.pkl", std::string(200, 'x')};
    ForeignRecord second{"a/data/0", std::string(50, 'y')};
    const auto shifted = [&](int64_t by) {
        second.headerShift = by;
        return buildForeignArchive({first, second});
    };
    REQUIRE(open(shifted(0), ReadMode::Strict));
    for (const int64_t by :
        {int64_t{-1}, int64_t{-100}, int64_t{-240}, int64_t{1}, int64_t{1000}, int64_t{1} << 31}) {
        CAPTURE(by);
        CHECK_FALSE(open(shifted(by), ReadMode::Strict));
        const auto zip = open(shifted(by), ReadMode::Tolerant);
        CHECK((!zip || zip->records()[1].damaged));
    }
    // Two entries for one local header.
    ForeignRecord same{"a/data.pkl", std::string(200, 'x')};
    same.headerShift = -static_cast<int64_t>(30 + 10 + 200);
    checkRefused(buildForeignArchive({first, same}), ErrorCode::Hostile, "overlap");
    // A record inside the payload of another, as overlapping zip bombs have it.
    ForeignRecord inside{"a/data/0", ""};
    const std::string header = buildForeignArchive({inside}).substr(0, 38);
    ForeignRecord outer{"a/data.pkl", header + header};
    inside.headerShift = -static_cast<int64_t>(2 * header.size());
    checkRefused(buildForeignArchive({outer, inside}), ErrorCode::Hostile, "overlap");
}

TEST_CASE("Z20 Z21 Z24: names that cannot be determined apart, prefixes")
{
    checkRefused(
        buildForeignArchive({{"a/x", "1"}, {"a/y", "2"}, {"a/x", "3"}}), ErrorCode::Hostile, "two records");
    checkRefused(
        buildForeignArchive({{"a/data.pkl", "1"}, {"a/DATA.PKL", "2"}}), ErrorCode::Hostile, "only in case");
    checkRefused(buildForeignArchive({{"a/x", "1"}, {"b/y", "2"}}), ErrorCode::Hostile, "two folders");
    checkRefused(buildForeignArchive({{"a/x", "1"}, {"ab/y", "2"}}), ErrorCode::Hostile, "two folders");
    checkRefused(buildForeignArchive({{"x", "1"}}), ErrorCode::Hostile, "folder");
}

TEST_CASE("Z22: names that would leave their folder")
{
    const std::string names[] = {"../x", "/x", "a/../x", "a/./x", "a/..", "..", "C:/x", "a\\x/y", "a//x",
        "a/x\ny", "a/x\x7f/", "a/\x01", "a/\xff\xfe", "", "./a", "a/x//", std::string("a/x\0y", 5)};
    for (const std::string& name : names) {
        CAPTURE(name);
        checkRefused(buildForeignArchive({{name, "1"}}), ErrorCode::Hostile, "name");
    }
    for (const char* name : {"a/...", "a/.data/x", "a/..x", "a/ü", "a/x y", "a/a:b"})
        CHECK(open(buildForeignArchive({{name, "1"}}), ReadMode::Strict));
}

TEST_CASE("Z23 Z25 Z32 Z33: oddities that are reported")
{
    ForeignRecord link{"a/data.pkl", "/etc/passwd"};
    link.externalAttributes = 0120777u << 16;
    checkWarned(buildForeignArchive({link}), "file-hostile");

    const ZipDirectory folders
        = checkWarned(buildForeignArchive({{"a/", ""}, {"a/b/", ""}, {"a/x", "1"}}), "record-unused");
    CHECK(folders.records().size() == 1);
    checkRefused(buildForeignArchive({{"a/b/", "content"}}), ErrorCode::Hostile, "folder");

    std::string torchs = test::buildTorchArchive(kPlain);
    torchs[50] = 'P';
    checkWarned(torchs, "file-hostile");

    ForeignRecord overrun{"a/data.pkl", "content"};
    overrun.localExtra = std::string("FB\x40\x00ZZ", 6);
    checkRefused(buildForeignArchive({overrun}), ErrorCode::Hostile, "overruns");
    overrun.localExtra.clear();
    overrun.centralExtra = std::string("\x01\x00\x40\x00ZZ", 6);
    checkRefused(buildForeignArchive({overrun}), ErrorCode::Hostile, "overruns");
}

TEST_CASE("Z26 Z27: compressed records")
{
    const std::string text(3'000'000, 't');
    const auto bytes = [&](uint64_t declared) {
        return buildForeignArchive({{"a/data.pkl", "x"}, compressed("a/big", text, declared)});
    };
    CHECK(open(bytes(text.size()),
        ReadMode::Strict)); // TorchFile refuses it, once it knows that it is not TorchScript
    const ZipDirectory zip = checkWarned(bytes(text.size()), "not-supported");
    const test::MemoryFile file(bytes(text.size()));
    CHECK(zip.records()[1].deflated);
    CHECK(readRecord(file, zip.records()[1], 4 << 20).value() == text);
    CHECK(readRecord(file, zip.records()[1], 1 << 20).error().code == ErrorCode::LimitExceeded);
    JobContext job;
    CHECK(checkRecordCrc(file, zip.records()[1], job));

    for (const uint64_t declared :
        {text.size() - 1, text.size() + 1, size_t{0}, size_t{1}, size_t{1} << 31}) {
        CAPTURE(declared);
        const auto wrong = open(bytes(declared), ReadMode::Tolerant);
        REQUIRE(wrong);
        const test::MemoryFile lying(bytes(declared));
        const auto read = readRecord(lying, wrong->records()[1], uint64_t{4} << 30);
        REQUIRE_FALSE(read);
        CHECK((read.error().code == ErrorCode::Hostile || read.error().code == ErrorCode::Damaged));
        CHECK_FALSE(checkRecordCrc(lying, wrong->records()[1], job));
    }
    // Every prefix of the compressed bytes, and random flips in them.
    const size_t packed = compressed("a/big", "some text some text some other text", 35).payload.size();
    for (size_t cut = 0; cut < packed; ++cut) {
        ForeignRecord record = compressed("a/big", "some text some text some other text", 35);
        record.payload.resize(cut);
        const std::string archive = buildForeignArchive({record});
        const auto opened = open(archive, ReadMode::Tolerant);
        REQUIRE(opened);
        const test::MemoryFile cutFile(archive);
        CHECK_FALSE(readRecord(cutFile, opened->records()[0], 1000));
    }
}

TEST_CASE("Z31: descriptors")
{
    const std::string bytes = test::buildTorchArchive(kPlain);
    const auto healthy = open(bytes, ReadMode::Strict);
    REQUIRE(healthy);
    const ZipRecord& record = healthy->records()[1];
    const size_t at = record.payloadOffset + record.bytes;
    for (const size_t field : {0u, 4u, 8u, 12u}) {
        const ZipDirectory zip
            = checkWarned(poked(bytes, at + field, uint32_t{0x5A5A5A5A}), "record-corrupt");
        CHECK(zip.findings()[0].severity == Severity::Warning);
        CHECK_FALSE(zip.records()[1].damaged);
    }
}

TEST_CASE("bytes between records are reported")
{
    // A record that only the local headers know, hidden from the directory.
    std::string bytes
        = buildForeignArchive({{"a/data.pkl", "x"}, {"a/hidden", "secret"}, {"a/version", "3"}});
    const size_t end = bytes.size() - 22;
    const size_t directory = peek<uint32_t>(bytes, end + 16);
    const size_t second = directory + 46 + 10;
    bytes.erase(second, 46 + 8);
    const size_t newEnd = bytes.size() - 22;
    bytes = poked(poked(bytes, newEnd + 8, uint16_t{2}), newEnd + 10, uint16_t{2});
    bytes = poked(bytes, newEnd + 12, static_cast<uint32_t>(newEnd - directory));
    const ZipDirectory zip = checkWarned(bytes, "trailing-data");
    CHECK(zip.findings()[0].message.find(std::to_string(30 + 8 + 6) + " bytes") != std::string::npos);
}
