// SPDX-License-Identifier: Apache-2.0
// Truncation and flipped bytes at every position, and rebuilding without a directory.
#include "core/torchfile/zip/zip_directory.h"
#include "tests/support/memory_file.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace shardscope;

namespace {

const std::filesystem::path kData = sourceFolder() + "/tests/data/torch";

Result<ZipDirectory> open(const io::ReadFile& file, ReadMode mode)
{
    JobContext job;
    return ZipDirectory::read(file, mode, job);
}

std::map<std::string, std::string> contentOf(const std::string& bytes)
{
    const test::MemoryFile file(bytes);
    const auto zip = open(file, ReadMode::Strict);
    REQUIRE(zip);
    std::map<std::string, std::string> content;
    for (const ZipRecord& record : zip->records())
        content[record.name] = readRecord(file, record, 1 << 24).value();
    return content;
}

/// Every record that can be read has its original content. Returns how many those are.
size_t checkNoWrongValue(
    const io::ReadFile& file, const ZipDirectory& zip, const std::map<std::string, std::string>& content)
{
    size_t read = 0;
    for (const ZipRecord& record : zip.records()) {
        const auto payload = readRecord(file, record, 1 << 24);
        if (!payload)
            continue;
        const auto original = content.find(record.name);
        REQUIRE(original != content.end());
        REQUIRE(*payload == original->second);
        ++read;
    }
    return read;
}

bool hasTorn(const ZipDirectory& zip)
{
    return zip.isRecovered() && zip.findings().front().code == "file-torn"
        && zip.findings().front().severity == Severity::Error && !zip.isTorchProfile();
}

} // namespace

TEST_CASE("Z03 Z04: a file truncated anywhere never gives a wrong value")
{
    for (const char* name : {"tiny.pt", "file_object.pt", "views.pt"}) {
        CAPTURE(name);
        const std::string bytes = test::slurp(kData / name);
        const auto content = contentOf(bytes);
        size_t most = 0;
        for (size_t length = 0; length < bytes.size(); ++length) {
            CAPTURE(length);
            const test::MemoryFile file(bytes.substr(0, length));
            const auto strict = open(file, ReadMode::Strict);
            REQUIRE_FALSE(strict);
            CHECK(strict.error().code == ErrorCode::Damaged);
            const auto tolerant = open(file, ReadMode::Tolerant);
            if (!tolerant) {
                CHECK(tolerant.error().code == ErrorCode::Damaged);
                CHECK(most == 0); // once the first record is whole, longer files always open
                continue;
            }
            CHECK(hasTorn(*tolerant));
            const size_t readable = checkNoWrongValue(file, *tolerant, content);
            CHECK(readable >= most);
            most = readable;
        }
        CHECK(most == content.size());
    }
}

TEST_CASE("a flipped byte anywhere is refused, reported, or has no effect")
{
    for (const char* name : {"tiny.pt", "file_object.pt"}) {
        CAPTURE(name);
        const std::string bytes = test::slurp(kData / name);
        const auto content = contentOf(bytes);
        const test::MemoryFile originalFile(bytes);
        const auto original = open(originalFile, ReadMode::Strict);
        REQUIRE(original);
        std::vector<bool> payload(bytes.size(), false);
        for (const ZipRecord& record : original->records())
            for (uint64_t i = 0; i < record.bytes; ++i)
                payload[record.payloadOffset + i] = true;
        size_t silent = 0;
        for (size_t at = 0; at < bytes.size(); ++at) {
            for (const int bit : {0x01, 0x08, 0x80, 0xFF}) {
                CAPTURE(at);
                CAPTURE(bit);
                std::string flipped = bytes;
                flipped[at] = static_cast<char>(flipped[at] ^ bit);
                const test::MemoryFile file(flipped);
                for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant}) {
                    const auto zip = open(file, mode);
                    if (!zip)
                        continue;
                    const size_t readable = checkNoWrongValue(file, *zip, content);
                    CHECK((payload[at] ? readable == content.size() - 1
                                       : readable == content.size() || !zip->findings().empty()));
                    if (!payload[at]) {
                        // A change that is accepted silently is still reported as not torch's own bytes.
                        CHECK_FALSE(zip->isTorchProfile());
                        if (zip->findings().empty())
                            ++silent;
                    }
                }
            }
        }
        // Only fields that nothing depends on: versions, times, attributes. 4 flips, 2 modes.
        CHECK(silent < original->records().size() * 30 * 8 + 100);
    }
}

TEST_CASE("Z05: zeros from the middle on")
{
    test::NamedRecords records;
    for (int i = 0; i < 8; ++i)
        records.emplace_back("data/" + std::to_string(i), std::string(500, static_cast<char>('a' + i)));
    const std::string bytes = test::buildTorchArchive(records);
    const auto content = contentOf(bytes);
    for (size_t from = 600; from < bytes.size() - 22; from += 37) {
        CAPTURE(from);
        std::string zeroed = bytes;
        std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(from), zeroed.end(), '\0');
        const test::MemoryFile file(zeroed);
        CHECK(open(file, ReadMode::Strict).error().code == ErrorCode::Damaged);
        const auto zip = open(file, ReadMode::Tolerant);
        REQUIRE(zip);
        CHECK(hasTorn(*zip));
        CHECK(checkNoWrongValue(file, *zip, content) >= 1);
    }
}

TEST_CASE("a destroyed directory is rebuilt from headers, for large payloads and those of other programs too")
{
    std::string large(5 << 20, 'x');
    for (size_t at = 0; at < large.size(); at += 4099) // false trails on every possible position in a window
        large.replace(at, 4, "PK\x07\x08");
    const std::string archives[] = {test::buildTorchArchive({{"data.pkl", "pickle"}, {"data/0", large},
                                        {"data/1", ""}, {"version", "3\n"}}),
        test::buildForeignArchive({{"a/data.pkl", "pickle"}, {"a/data/0", large}, {"a/version", "3\n"}})};
    for (const std::string& bytes : archives) {
        const test::MemoryFile whole(bytes);
        const auto expected = open(whole, ReadMode::Strict);
        REQUIRE(expected);
        const size_t directory = ZipDirectory::readEnd(whole)->directoryOffset;
        std::string destroyed = bytes;
        std::fill(destroyed.begin() + static_cast<std::ptrdiff_t>(directory),
            destroyed.begin() + static_cast<std::ptrdiff_t>(directory) + 30, '\0');
        for (const std::string& damaged : {destroyed, bytes.substr(0, directory),
                 bytes.substr(0, directory + 1), bytes.substr(0, bytes.size() - 1)}) {
            const test::MemoryFile file(damaged);
            CHECK_FALSE(open(file, ReadMode::Strict));
            const auto zip = open(file, ReadMode::Tolerant);
            REQUIRE(zip);
            CHECK(hasTorn(*zip));
            REQUIRE(zip->records().size() == expected->records().size());
            for (size_t i = 0; i < expected->records().size(); ++i) {
                const ZipRecord& a = expected->records()[i];
                const ZipRecord& b = zip->records()[i];
                CHECK(a.name == b.name);
                CHECK(a.payloadOffset == b.payloadOffset);
                CHECK(a.bytes == b.bytes);
                CHECK(a.crc32 == b.crc32);
                CHECK_FALSE(b.damaged);
            }
        }
    }
}

TEST_CASE("Z43: a new archive written over a longer one")
{
    test::NamedRecords older;
    test::NamedRecords newer;
    for (int i = 0; i < 20; ++i) {
        older.emplace_back("data/" + std::to_string(i), std::string(1000, 'o'));
        newer.emplace_back("data/" + std::to_string(i), std::string(700, 'n'));
    }
    const std::string longer = test::buildTorchArchive(older);
    const std::string shorter = test::buildTorchArchive(newer);
    const size_t head = shorter.size() / 512 * 512;
    const std::string mixed = shorter.substr(0, head) + longer.substr(head) + shorter.substr(head);
    const test::MemoryFile file(mixed);
    CHECK(open(file, ReadMode::Strict).error().code == ErrorCode::Damaged);
    const auto zip = open(file, ReadMode::Tolerant);
    REQUIRE(zip);
    CHECK(hasTorn(*zip));
    CHECK(zip->findings().front().message.find("written over a longer one") != std::string::npos);
    CHECK(checkNoWrongValue(file, *zip, contentOf(shorter)) >= 19);
}

TEST_CASE("rebuilding stops when asked")
{
    const std::string bytes = test::buildTorchArchive({{"data/0", std::string(8 << 20, 'x')}});
    const test::MemoryFile file(bytes.substr(0, bytes.size() - 10));
    std::stop_source stop;
    stop.request_stop();
    JobContext job(stop.get_token());
    CHECK(ZipDirectory::read(file, ReadMode::Tolerant, job).error().code == ErrorCode::Cancelled);
}
