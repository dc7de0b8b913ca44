// SPDX-License-Identifier: Apache-2.0
// Archives recognised by comparison with one that was read before.
#include "core/torchfile/zip/zip_directory_image.h"
#include "tests/support/memory_file.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

constexpr int kRecords = 60;

/// Every fifth record is empty; `fill` is in all others.
std::string archive(const std::string& prefix, char fill, int records = kRecords)
{
    test::NamedRecords named{{"data.pkl", std::string(70, fill)}};
    for (int i = 0; i < records; ++i)
        named.emplace_back("data/" + std::to_string(i), std::string(static_cast<size_t>(i % 5 * 7), fill));
    return test::buildTorchArchive(named, prefix);
}

Result<ZipDirectory> read(const io::ReadFile& file, ReadMode mode = ReadMode::Tolerant)
{
    JobContext job;
    return ZipDirectory::read(file, mode, job);
}

std::shared_ptr<const DirectoryImage> imageOf(const std::string& bytes)
{
    const test::MemoryFile file(bytes);
    auto zip = read(file);
    REQUIRE(zip);
    JobContext job;
    auto image = DirectoryImage::read(file, std::move(*zip), job);
    REQUIRE(image);
    return *image;
}

std::optional<ZipDirectory> match(const DirectoryImage& image, const io::ReadFile& file)
{
    JobContext job;
    auto matched = image.match(file, job);
    REQUIRE(matched);
    return std::move(*matched);
}

bool equal(const ZipRecord& a, const ZipRecord& b)
{
    return a.name == b.name && a.headerOffset == b.headerOffset && a.payloadOffset == b.payloadOffset
        && a.bytes == b.bytes && a.crc32 == b.crc32 && a.crcPresent == b.crcPresent
        && a.deflated == b.deflated && a.inflatedBytes == b.inflatedBytes && a.damaged == b.damaged;
}

bool equal(const ZipDirectory& a, const ZipDirectory& b)
{
    if (a.prefix() != b.prefix() || a.recordCount() != b.recordCount() || a.alignment() != b.alignment()
        || a.isRecovered() != b.isRecovered() || a.findings().size() != b.findings().size())
        return false;
    for (uint32_t i = 0; i < a.recordCount(); ++i) {
        const ZipRecord& one = a.record(i);
        if (!equal(one, b.record(i)) || !equal(one, a.records()[i]) || a.find(one.name) != i)
            return false;
    }
    return true;
}

} // namespace

TEST_CASE("an archive that differs in payloads and in the folder's name has the directory that reading gives")
{
    const auto image = imageOf(archive("rank_1", 'a'));
    REQUIRE(image != nullptr);
    for (const auto& [prefix, fill] : {std::pair("rank_2", 'b'), std::pair("rank_2", 'a'),
             std::pair("rank_1", 'b'), std::pair("rank_1", 'a')}) {
        CAPTURE(prefix);
        CAPTURE(fill);
        const test::MemoryFile file(archive(prefix, fill));
        const auto matched = match(*image, file);
        REQUIRE(matched);
        CHECK(equal(*matched, read(file, ReadMode::Strict).value()));
        CHECK(matched->sharesRecordsWith(image->directory()));
        JobContext job;
        CHECK(checkRecordCrc(file, matched->record(3), job));
    }
}

TEST_CASE("archives of other records or other names are not recognised")
{
    const auto image = imageOf(archive("rank_1", 'a'));
    REQUIRE(image != nullptr);
    CHECK_FALSE(match(*image, test::MemoryFile(archive("rank_10", 'a'))));
    CHECK_FALSE(match(*image, test::MemoryFile(archive("rank_2", 'a', kRecords + 1))));
    CHECK_FALSE(match(*image, test::MemoryFile(archive("rank_2", 'a') + "x")));
    CHECK_FALSE(match(*image, test::MemoryFile(archive("rank_2", 'a').substr(1))));
    CHECK_FALSE(match(*image, test::MemoryFile(std::string())));
    CHECK_FALSE(match(*image, test::MemoryFile(std::string(archive("rank_2", 'a').size(), 'P'))));
    for (const char* prefix : {"rank/2", "rank\\2", "rank\n2",
             "rank\xff"
             "2"})
        CHECK_FALSE(match(*image, test::MemoryFile(archive(prefix, 'a'))));
}

TEST_CASE("no changed byte of a header is overlooked")
{
    const auto image = imageOf(archive("rank_1", 'a'));
    REQUIRE(image != nullptr);
    const std::string bytes = archive("rank_2", 'b');
    const test::MemoryFile healthy(bytes);
    const auto zip = read(healthy);
    REQUIRE(zip);
    std::vector<bool> isPayload(bytes.size(), false);
    for (const ZipRecord& record : zip->records())
        std::fill_n(isPayload.begin() + static_cast<int64_t>(record.payloadOffset), record.bytes, true);
    size_t matches = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
        for (const char flip : {'\x01', '\x20'}) {
            std::string changed = bytes;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            const test::MemoryFile file(changed);
            const auto matched = match(*image, file);
            if (isPayload[at])
                REQUIRE(matched);
            if (!matched)
                continue;
            CAPTURE(at);
            ++matches;
            const auto again = read(file, ReadMode::Strict);
            REQUIRE(again);
            REQUIRE(equal(*matched, *again));
        }
    }
    CHECK(matches > 0);
}

TEST_CASE("archives that torch did not write so, and small ones, make no image")
{
    test::NamedRecords few{{"data.pkl", "x"}, {"data/0", "y"}};
    CHECK(imageOf(test::buildTorchArchive(few)) == nullptr);
    std::vector<test::ForeignRecord> foreign;
    for (int i = 0; i < kRecords; ++i)
        foreign.push_back({"archive/data/" + std::to_string(i), "x"});
    CHECK(imageOf(test::buildForeignArchive(foreign)) == nullptr);
}

TEST_CASE("an unreadable header is an error and not another archive")
{
    const auto image = imageOf(archive("rank_1", 'a'));
    REQUIRE(image != nullptr);
    test::MemoryFile file(archive("rank_2", 'b'));
    file.breakAt(40);
    JobContext job;
    const auto matched = image->match(file, job);
    CHECK((!matched || !*matched));
}
