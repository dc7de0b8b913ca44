// SPDX-License-Identifier: Apache-2.0
// Calls on files of another host, and results that a stranger may have made.
#include "core/serve/file_calls.h"
#include "core/serve/packing.h"

#include <doctest/doctest.h>

#include <random>

using namespace shardscope;
using namespace shardscope::serve;

namespace {

const std::vector<FileCall> kAsked{{std::string(call::kStat), "/a"}, {std::string(call::kList), "~/b\xFF"},
    {std::string(call::kCanonical), "/c"}, {std::string(call::kSpace), "/d"},
    {std::string(call::kOpen), "/e"}, {std::string(call::kRead), "/f", {1, 2, 3, -4, 5}, 7, 9},
    {std::string(call::kSmall), "/g", {}, 0, 100}, {std::string(call::kUnchanged), "/h", {9, 8, 7, 6, 5}}};

std::vector<FileResult> answers()
{
    std::vector<FileResult> out(kAsked.size());
    out[0].info = {io::FileType::Directory, {1, 2, 3, -4, 5}, 0755};
    out[1].entries = {{"x", io::FileType::Regular}, {"y\xFF", io::FileType::Symlink}};
    out[2].path = "/real/c";
    out[3].space = {uint64_t{1} << 60, UINT64_MAX};
    out[4].info = {io::FileType::Regular, {5, 4, 3, 2, 1}, 0};
    out[5].bytes = 9;
    out[6].bytes = 42;
    out[7].error = Error{ErrorCode::SourceChanged, "it has changed", "/h", "open it again"};
    out[7].isOutage = true;
    return out;
}

ErrorCode codeOf(std::string_view text, std::span<const FileCall> calls)
{
    const auto found = parseFileResults(text, calls);
    return found ? ErrorCode::Internal : found.error().code;
}

} // namespace

TEST_CASE("calls on files and their results come out as they were")
{
    const auto calls = parseFileCalls(fileCallsText(kAsked));
    REQUIRE(calls.has_value());
    REQUIRE(calls->size() == kAsked.size());
    for (size_t i = 0; i < kAsked.size(); ++i) {
        CAPTURE(i);
        CHECK((*calls)[i].call == kAsked[i].call);
        CHECK((*calls)[i].path == kAsked[i].path);
        CHECK((*calls)[i].identity == kAsked[i].identity);
        CHECK((*calls)[i].offset == kAsked[i].offset);
        CHECK((*calls)[i].bytes == kAsked[i].bytes);
    }
    const auto expected = answers();
    const auto found = parseFileResults(fileResultsText(kAsked, expected), kAsked);
    REQUIRE(found.has_value());
    for (size_t i = 0; i < kAsked.size(); ++i) {
        CAPTURE(i);
        CHECK((*found)[i].info.type == expected[i].info.type);
        CHECK((*found)[i].info.identity == expected[i].info.identity);
        CHECK((*found)[i].info.mode == expected[i].info.mode);
        REQUIRE((*found)[i].entries.size() == expected[i].entries.size());
        for (size_t k = 0; k < expected[i].entries.size(); ++k) {
            CHECK((*found)[i].entries[k].name == expected[i].entries[k].name);
            CHECK((*found)[i].entries[k].type == expected[i].entries[k].type);
        }
        CHECK((*found)[i].path == expected[i].path);
        CHECK((*found)[i].space.freeBytes == expected[i].space.freeBytes);
        CHECK((*found)[i].space.freeFiles == expected[i].space.freeFiles);
        CHECK((*found)[i].bytes == expected[i].bytes);
        REQUIRE((*found)[i].error.has_value() == expected[i].error.has_value());
        if (expected[i].error) {
            CHECK((*found)[i].error->code == expected[i].error->code);
            CHECK((*found)[i].error->message == expected[i].error->message);
            CHECK((*found)[i].error->hint.text == expected[i].error->hint.text);
            CHECK((*found)[i].isOutage);
        }
    }
}

TEST_CASE("a request for too many bytes or calls is refused")
{
    std::vector<FileCall> calls(2, {std::string(call::kRead), "/f", {1, 2, 3, 4, 5}, 0, UINT64_MAX - 1});
    CHECK(parseFileCalls(fileCallsText(calls)).error().code == ErrorCode::LimitExceeded);
    calls.assign(1, {std::string(call::kRead), "/f", {1, 2, 3, 4, 5}, 0, kCalledBytesLimit + 1});
    CHECK(parseFileCalls(fileCallsText(calls)).error().code == ErrorCode::LimitExceeded);
    calls.assign(kCallsLimit + 1, {std::string(call::kStat), "/f"});
    CHECK(parseFileCalls(fileCallsText(calls)).error().code == ErrorCode::LimitExceeded);
    for (const char* text : {"", "[]", "{}", R"({"calls":7})", R"({"calls":[{"call":"remove","path":"/"}]})",
             R"({"calls":[{"call":"stat"}]})"}) {
        CAPTURE(text);
        CHECK(parseFileCalls(text).error().code == ErrorCode::Damaged);
    }
}

TEST_CASE("results that nobody asked for are hostile")
{
    const std::vector<FileCall> list{{std::string(call::kList), "/d"}};
    const std::vector<FileCall> read{{std::string(call::kRead), "/f", {1, 2, 3, 4, 5}, 0, 10}};
    const std::vector<FileCall> canonical{{std::string(call::kCanonical), "/c"}};
    for (const char* name : {"../x", "", ".", "..", "a/b", "/x"}) {
        CAPTURE(name);
        CHECK(codeOf(R"({"results":[{"entries":[{"name":")" + std::string(name) + R"(","type":"file"}]}]})",
                  list)
            == ErrorCode::Hostile);
    }
    CHECK(codeOf(R"({"results":[{"bytes":11}]})", read) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[{"bytes":9}]})", read) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[{}]})", read) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[]})", read) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[{"bytes":10},{"bytes":10}]})", read) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[{"path":"relative"}]})", canonical) == ErrorCode::Hostile);
    CHECK(codeOf(R"({"results":[{}]})", canonical) == ErrorCode::Hostile);
    CHECK(codeOf("no JSON", canonical) == ErrorCode::Hostile);
}

TEST_CASE("damaged messages about files end in an error, and in nothing else")
{
    std::mt19937_64 random(3);
    const std::string calls = fileCallsText(kAsked);
    const std::string results = fileResultsText(kAsked, answers());
    for (int repeat = 0; repeat < 3000; ++repeat) {
        std::string one = calls;
        std::string other = results;
        for (size_t i = 0; i < 1 + random() % 4; ++i) {
            one[random() % one.size()] = static_cast<char>(random());
            other[random() % other.size()] = static_cast<char>(random());
        }
        (void)parseFileCalls(one);
        (void)parseFileResults(other, kAsked);
        (void)parseError(other);
    }
}

TEST_CASE("payloads are packed where that pays, and come out as they were")
{
    std::mt19937_64 random(11);
    std::string names;
    for (int i = 0; i < 5000; ++i)
        names += "model.layers." + std::to_string(random() % 5000) + ".mlp.weight ";
    std::string values(100000, '\0');
    for (char& c : values)
        c = static_cast<char>(random());
    Packer packer;
    Unpacker unpacker;
    const auto first = packer.pack(names).value();
    REQUIRE(first.has_value());
    CHECK(first->size() * 4 < names.size());
    CHECK(unpacker.unpack(*first, names.size()).value() == names);
    CHECK_FALSE(packer.pack(values)->has_value());
    CHECK_FALSE(packer.pack("short")->has_value());
    // What another rank has in common costs nothing.
    std::string another = names;
    another[another.size() / 2] = '#';
    const auto second = packer.pack(another).value();
    REQUIRE(second.has_value());
    CHECK(second->size() * 50 < first->size());
    CHECK(unpacker.unpack(*second, another.size()).value() == another);
    // Values after names are packed, too, and come out.
    const auto mixed = packer.pack(names.substr(0, 20000) + values).value();
    REQUIRE(mixed.has_value());
    CHECK(unpacker.unpack(*mixed, 20000 + values.size()).value() == names.substr(0, 20000) + values);
    // What a stranger may send.
    for (const size_t bytes : {size_t{1}, names.size() - 1, names.size() + 1, size_t{1} << 40, SIZE_MAX})
        CHECK(Unpacker().unpack(*first, bytes).error().code == ErrorCode::Hostile);
    CHECK(Unpacker().unpack(*second, another.size()).error().code == ErrorCode::Hostile); // without the first
    CHECK(Unpacker().unpack("", 3).error().code == ErrorCode::Hostile);
    for (int repeat = 0; repeat < 500; ++repeat) {
        std::string damaged = *first;
        damaged[random() % damaged.size()] = static_cast<char>(random());
        const auto out = Unpacker().unpack(damaged, names.size());
        if (out)
            CHECK(out->size() == names.size());
    }
}
