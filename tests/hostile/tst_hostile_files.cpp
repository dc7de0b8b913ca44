// SPDX-License-Identifier: Apache-2.0
// Malicious archives in place of a rank's file and of the model file, through every verb.
// What each does to the parser alone is in tests/core/torchfile/tst_zip_hostile.cpp.
#include "tests/hostile/hostile_files.h"

#include "core/torchfile/zip/zip_directory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace shardscope;
using namespace shardscope::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

template <class T>
void poke(std::string& bytes, uint64_t at, T value)
{
    REQUIRE(at + sizeof value <= bytes.size());
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// The records of the file as any zip program would store them; the first is data.pkl.
std::vector<ForeignRecord> foreignRecordsOf(const fs::path& file)
{
    std::vector<ForeignRecord> out;
    for (const auto& [name, payload] : recordsOf(file))
        out.push_back({file.stem().string() + "/" + name, payload});
    return out;
}

using RecordEdit = std::function<void(std::vector<ForeignRecord>&, const std::string& prefix)>;

/// Stores the file again with a plain zip program's headers after an edit of its records.
DamageFile rezipped(const RecordEdit& edit)
{
    return [edit](const fs::path& file) {
        auto records = foreignRecordsOf(file);
        edit(records, file.stem().string() + "/");
        spill(file, buildForeignArchive(records));
    };
}

/// The places of the parts at the end of an archive of torch.
struct Ends {
    uint64_t zip64 = 0;
    uint64_t directory = 0;
};

using BytesEdit = std::function<void(std::string& bytes, const Ends& ends)>;

DamageFile poked(const BytesEdit& edit)
{
    return [edit](const fs::path& file) {
        std::string bytes = slurp(file);
        Ends ends;
        ends.zip64 = bytes.size() - 22 - 20 - 56;
        std::memcpy(&ends.directory, bytes.data() + ends.zip64 + 48, sizeof ends.directory);
        edit(bytes, ends);
        spill(file, bytes);
    };
}

} // namespace

TEST_CASE("record names that would leave their folder")
{
    for (const std::string& name : {"../../etc/passwd"s, "../data.pkl"s, "data/../../x"s, "data/./0"s,
             "C:\\windows\\x"s, "data\\0"s, "new\nline"s, "zero\0byte"s}) {
        checkUnreadable(name, "name", rezipped([&](auto& records, const std::string& prefix) {
            records.push_back({prefix + name, "x"});
        }));
    }
    checkUnreadable("absolute", "name", rezipped([](auto& records, const std::string&) {
        records.push_back({"/etc/passwd", "x"});
    }));
}

TEST_CASE("records that two readers would read differently")
{
    checkUnreadable("two of one name", "data/1", rezipped([](auto& records, const std::string& prefix) {
        records.push_back({prefix + "data/1", "x"});
    }));
    checkUnreadable(
        "names equal but for case", "DATA.PKL", rezipped([](auto& records, const std::string& prefix) {
            records.push_back({prefix + "DATA.PKL", "x"});
        }));
    checkUnreadable("another name in the local header", "name",
        rezipped(
            [](auto& records, const std::string& prefix) { records[0].localName = prefix + "data.pk1"; }));
    checkUnreadable(
        "encrypted", "encrypt", rezipped([](auto& records, const std::string&) { records[0].flags = 1; }));
    checkUnreadable("encrypted in one header", "disagree",
        rezipped([](auto& records, const std::string&) { records[0].localFlags = 1; }));
    checkUnreadable("two prefixes", "two folders", rezipped([](auto& records, const std::string&) {
        records.push_back({"other/data.pkl", "x"});
    }));
    checkUnreadable("a record over another", "overlap", rezipped([](auto& records, const std::string&) {
        const auto size
            = static_cast<int64_t>(30 + records.back().name.size() + records.back().payload.size());
        records.push_back(records.back());
        records.back().name += "x";
        records.back().localName = records[records.size() - 2].name;
        records.back().headerShift = -size;
    }));
}

TEST_CASE("sizes that no file has")
{
    constexpr uint64_t kHuge = uint64_t{1} << 60;
    checkUnreadable("2^60 entries", "end records", poked([](std::string& bytes, const Ends& ends) {
        poke(bytes, ends.zip64 + 24, kHuge);
        poke(bytes, ends.zip64 + 32, kHuge);
    }));
    checkUnreadable("a directory of 2^60 bytes", "end records",
        poked([](std::string& bytes, const Ends& ends) { poke(bytes, ends.zip64 + 40, kHuge); }));
    checkUnreadable("a directory at 2^63", "end records",
        poked([](std::string& bytes, const Ends& ends) { poke(bytes, ends.zip64 + 48, uint64_t{1} << 63); }));
    checkUnreadable("a pickle of 4 GiB", "data.pkl", poked([](std::string& bytes, const Ends& ends) {
        poke(bytes, ends.directory + 20, uint32_t{0xFFFFFFFE});
        poke(bytes, ends.directory + 24, uint32_t{0xFFFFFFFE});
    }));
    // Names and shapes are found again by the local headers.
    checkReadable("a name of 64 KiB", "director", kOneFileBad, kOneFileBad,
        poked([](std::string& bytes, const Ends& ends) {
            poke(bytes, ends.directory + 28, uint16_t{0xFFFF});
        }));
}

TEST_CASE("zip bombs")
{
    const std::string zeros(size_t{16} << 20, '\0');
    checkUnreadable("more than declared", "data.pkl",
        rezipped([&](auto& records, const std::string&) { compress(records[0], zeros, 1000); }));
    checkUnreadable("four gigabytes declared", "data.pkl",
        rezipped([&](auto& records, const std::string&) { compress(records[0], "x", 0xFFFFFFFE); }));
    checkUnreadable("sixteen megabytes of nothing", "cannot read the pickle",
        rezipped([&](auto& records, const std::string&) { compress(records[0], zeros, zeros.size()); }));
}

TEST_CASE("extra pickles are read, reported and never executed")
{
    const TemporaryFolder folder;
    const std::string witness = (folder / "witness").string();
    const auto withRecord = [](const std::string& name, const std::string& payload) {
        return [=](const fs::path& file) {
            NamedRecords records = recordsOf(file);
            records.emplace_back(name, payload);
            writeRecords(file, records);
        };
    };
    const std::string touch = "touch " + witness;
    const std::string evil = "\x80\x02"
                             "cposix\nsystem\nX"s
        + static_cast<char>(touch.size()) + "\0\0\0"s + touch + "\x85R.";
    for (const std::string& name : {"extra.pkl"s, "code.pickle"s, "notes.txt"s, "data/4242"s})
        checkReadable(name, "posix.system", kOneFileBad, kOneFileBad, withRecord(name, evil));
    checkHarmless("a good one", "extra.pkl", withRecord("extra.pkl", "\x80\x02}."));
    checkHarmless("one that breaks off", "cannot be read", withRecord("extra.pkl", "\x80\x02}"));
    checkHarmless("no pickle at all", "extra.bin", withRecord("extra.bin", "\x80\x02what"));
    checkHarmless("a large one", "too large", withRecord("extra.pkl", std::string(size_t{17} << 20, 'N')));
    checkReadable("one that breaks off after its call", "posix.system", kOneFileBad, kOneFileBad,
        withRecord("extra.pkl", evil.substr(0, evil.size() - 1)));
    CHECK(!fs::exists(witness));
}
