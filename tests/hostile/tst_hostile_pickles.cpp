// SPDX-License-Identifier: Apache-2.0
// Malicious pickles in place of a rank's and of the model file's data.pkl, through every verb.
// What each does to the parser alone is in tests/core/torchfile/tst_pickle_hostile.cpp.
#include "tests/hostile/hostile_files.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

const std::string kBegin = "\x80\x02}q\0("s; ///< PROTO, the root mapping, and its MARK

/// Other bytes for data.pkl; everything else in the archive stays.
DamageFile streamed(const std::function<std::string(const std::string&)>& edit)
{
    return [edit](const fs::path& file) {
        NamedRecords records = recordsOf(file);
        std::string& stream = recordIn(records, "data.pkl");
        stream = edit(stream);
        writeRecords(file, records);
    };
}

/// Opcodes that run before the root is made.
DamageFile before(const std::string& opcodes)
{
    return streamed(
        [=](const std::string& stream) { return stream.substr(0, 2) + opcodes + stream.substr(2); });
}

/// One more entry of the root mapping, `client`: what these opcodes push.
DamageFile withEntry(const std::string& opcodes)
{
    return streamed([=](const std::string& stream) {
        REQUIRE(stream.starts_with(kBegin));
        return kBegin + "X\x06\0\0\0client"s + opcodes + stream.substr(kBegin.size());
    });
}

std::string repeated(const std::string& text, size_t times)
{
    std::string out;
    out.reserve(text.size() * times);
    for (size_t i = 0; i < times; ++i)
        out += text;
    return out;
}

std::string little(uint64_t value, size_t bytes)
{
    std::string out;
    for (size_t i = 0; i < bytes; ++i)
        out += static_cast<char>(value >> (8 * i));
    return out;
}

/// One verb of every column, where each takes as long as a thousand others: all go through the same parser.
void checkModel(const std::string& name, const std::string& word, const Row& row, const DamageFile& damage)
{
    CAPTURE(name);
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    damage(run / kModelFile);
    const auto before = traceOf(run);
    CHECK(runVerb({"inspect", run}, row.inspect).dump().find(word) != std::string::npos);
    runVerb({"params", run}, row.model);
    runVerb({"verify", run}, row.verify);
    runVerb({"reshard", run, folder / "out", "-w", "3"}, row.write);
    CHECK(fs::exists(folder / "out") == (row.write == 0));
    if (row.write == 0)
        runVerb({"verify", folder / "out", "--against", samplePath("zero2-w2")}, 0);
    CHECK(traceOf(run) == before);
}

} // namespace

TEST_CASE("calls are labelled, refused for writing, and never made")
{
    const TemporaryFolder folder;
    const std::string witness = (folder / "witness").string();
    const std::string argument = "X" + little(witness.size() + 6, 4) + "touch " + witness;
    for (const auto& [name, opcodes] :
        std::vector<std::pair<std::string, std::string>>{{"REDUCE", "cposix\nsystem\n" + argument + "\x85R"},
            {"INST", "(" + argument + "iposix\nsystem\n"}, {"OBJ", "(cposix\nsystem\n" + argument + "o"},
            {"NEWOBJ", "cposix\nsystem\n" + argument + "\x85\x81"},
            {"STACK_GLOBAL",
                "X" + little(5, 4) + "posixX" + little(6, 4) + "system\x93" + argument + "\x85R"}}) {
        checkReadable(name + " popped", "posix.system", kOneFileBad, kOneFileBad, before(opcodes + "0"));
        checkReadable(name + " kept", "posix.system", kOneFileBad, kOneFileBad, withEntry(opcodes));
        checkUnreadable(name + " and a broken stream", "posix.system", before(opcodes + "\xff"));
    }
    CHECK(!fs::exists(witness));
}

TEST_CASE("streams that are not pickles")
{
    checkUnreadable("an unknown opcode", "0xFF", before("\xff"));
    checkUnreadable("a protocol of the future", "protocol 99", before("\x80\x63"));
    checkUnreadable("nothing at all", "STOP", streamed([](const std::string&) { return std::string(); }));
    checkUnreadable("no STOP", "STOP",
        streamed([](const std::string& stream) { return stream.substr(0, stream.size() - 1); }));
    checkUnreadable("the first half", "pickle",
        streamed([](const std::string& stream) { return stream.substr(0, stream.size() / 2); }));
    checkUnreadable("a memo entry that was never stored", "memo", before("j\xff\xff\xff\x7f"));
    checkUnreadable("an empty stack", "stack", before("0"));
    checkUnreadable("an open mark", "mark",
        streamed([](const std::string& stream) { return stream.substr(0, 2) + "(" + stream.substr(2); }));
}

TEST_CASE("lengths that no stream has")
{
    checkUnreadable("a text of 4 GiB", "announced", before("X\xff\xff\xff\xff"));
    checkUnreadable("a text of 2^63 bytes", "announced", before("\x8d" + little(uint64_t{1} << 63, 8)));
    checkUnreadable("bytes of 2^64 - 1", "announced", before("\x8e" + little(UINT64_MAX, 8)));
    checkUnreadable("a number of negative length", "LONG4", before("\x8b" + little(0xFFFFFFFF, 4)));
    checkUnreadable("a frame of 2^63 bytes", "frame", before("\x95" + little(uint64_t{1} << 63, 8)));
}

TEST_CASE("references that mean something elsewhere")
{
    checkUnreadable("a persistent id in text", "not a storage", before("Pstorage\n0"));
    checkUnreadable("one that is a text", "not a storage", before("X\x01\0\0\0xQ0"s));
    checkUnreadable("one that is a number", "not a storage", before("K\x01Q0"));
    checkUnreadable("one that is a module", "not a storage",
        before("(X\x06\0\0\0moduleX\x01\0\0\0mX\x01\0\0\0sX\x01\0\0\0tNtQ0"s));
    checkUnreadable("one too short", "not a storage", before("X\x07\0\0\0storage\x85Q0"s));
    checkUnreadable("one in text that is kept", "not a storage", withEntry("Phttp://example.com\n"));
}

TEST_CASE("bytes after the end of a pickle are reported")
{
    const auto followedBy = [](const std::string& bytes) {
        return streamed([=](const std::string& stream) { return stream + bytes; });
    };
    checkHarmless("one byte", "follow the end of the pickle", followedBy("x"));
    checkHarmless("a second pickle", "follow the end of the pickle", followedBy("\x80\x02}."));
    checkHarmless("a megabyte", "follow the end of the pickle", followedBy(std::string(1 << 20, 'x')));
}

TEST_CASE("small pickles that expand to huge objects are stopped early")
{
    checkHarmless("memo index 2^32 - 1", "zero2",
        before("Nr\xff\xff\xff\xff"
               "0"));
    std::string scattered = "N";
    for (uint64_t i = 1; i <= 20000; ++i)
        scattered += "r" + little(i * 200003, 4);
    checkHarmless("memo entries far apart", "zero2", before(scattered + "0"));
    checkHarmless("one object that doubles 2,000 times", "zero2", withEntry("N" + repeated("2\x86", 2000)));
    checkHarmless("a list that holds itself", "zero2",
        withEntry("]r\xff\xff\xff\x7fj\xff\xff\xff\x7f"
                  "a"));
}

TEST_CASE("deep nesting")
{
    constexpr size_t kMillion = 1'000'000;
    const auto nested
        = [](size_t depth) { return withEntry(std::string(depth, ']') + std::string(depth - 1, 'a')); };
    checkModel("a million lists", "zero2", kFine, nested(kMillion));
    checkModel("a million tuples", "zero2", kFine, withEntry(")" + std::string(kMillion, '\x85')));
    checkModel("three million lists", "limit", kModelUnreadable, nested(3 * kMillion));
    checkModel("two million marks", "limit", kModelUnreadable, withEntry(std::string(2 * kMillion, '(')));
}
