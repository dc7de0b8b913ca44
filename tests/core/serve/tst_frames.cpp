// SPDX-License-Identifier: Apache-2.0
// Frames and messages of `shardscope serve`, read from bytes that a stranger may have sent.
#include "core/serve/frame.h"
#include "core/serve/messages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace shardscope;
using namespace shardscope::serve;

namespace {

std::span<const uint8_t> bytesOf(std::string_view text)
{
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Request everything()
{
    Request out;
    out.id = 7;
    out.ask = ask::kElements;
    out.of = uint64_t{1} << 60;
    out.file = "a/b\xFF";
    out.address = "größe\x80#exp_avg";
    out.box = {{0, 5}, {3, 2}};
    out.to = 9;
    out.digest = true;
    return out;
}

std::string frame(std::string_view header, std::string_view payload)
{
    return frameStart(header, payload.size()).append(payload);
}

/// Everything that a server or a client does with bytes; how many frames were whole messages.
size_t readAll(std::string_view bytes, std::mt19937_64& random)
{
    FrameReader reader;
    size_t messages = 0;
    while (!bytes.empty()) {
        const size_t piece = std::min<size_t>(bytes.size(), 1 + random() % 40);
        reader.add(bytesOf(bytes.substr(0, piece)));
        bytes.remove_prefix(piece);
        for (;;) {
            const auto next = reader.next();
            if (!next)
                return messages;
            if (!*next)
                break;
            messages += parseRequest((*next)->header).has_value() ? 1 : 0;
            messages += parseReply((*next)->header).has_value() ? 1 : 0;
            (void)parseWords((*next)->payload);
        }
    }
    return messages;
}

} // namespace

TEST_CASE("frames come out as they were, in whatever pieces they arrive")
{
    std::mt19937_64 random(5);
    for (int repeat = 0; repeat < 200; ++repeat) {
        std::vector<Frame> sent;
        std::string bytes;
        for (size_t i = 0; i < 20; ++i) {
            sent.push_back(
                {std::string(random() % 30, 'h'), std::string(random() % 300, static_cast<char>(random()))});
            bytes += frame(sent.back().header, sent.back().payload);
        }
        FrameReader reader;
        size_t got = 0;
        for (std::string_view rest = bytes; !rest.empty();) {
            const size_t piece = std::min<size_t>(rest.size(), 1 + random() % 200);
            reader.add(bytesOf(rest.substr(0, piece)));
            rest.remove_prefix(piece);
            for (auto next = reader.next(); next && *next; next = reader.next(), ++got) {
                REQUIRE(got < sent.size());
                REQUIRE((*next)->header == sent[got].header);
                REQUIRE((*next)->payload == sent[got].payload);
            }
        }
        CHECK(got == sent.size());
        CHECK_FALSE(reader.isInside());
    }
}

TEST_CASE("a frame that is too large is refused before it arrives")
{
    for (const auto& [header, payload] :
        {std::pair(kHeaderLimitBytes + 1, size_t{0}), std::pair(size_t{0}, kPayloadLimitBytes + 1),
            std::pair(size_t{0xFFFFFFFF}, size_t{0xFFFFFFFF})}) {
        std::string bytes = frameStart({}, payload);
        for (size_t i = 0; i < 4; ++i)
            bytes[i] = static_cast<char>(header >> (8 * i));
        FrameReader reader;
        reader.add(bytesOf(bytes));
        const auto next = reader.next();
        REQUIRE_FALSE(next.has_value());
        CHECK(next.error().code == ErrorCode::Hostile);
        CHECK(reader.isInside());
    }
}

TEST_CASE("messages come back as they were written")
{
    const Request sent = everything();
    const auto got = parseRequest(requestText(sent));
    REQUIRE(got.has_value());
    CHECK(got->id == sent.id);
    CHECK(got->ask == sent.ask);
    CHECK(got->of == sent.of);
    CHECK(got->file == sent.file);
    CHECK(got->address == sent.address);
    CHECK(got->box.offsets == sent.box.offsets);
    CHECK(got->box.sizes == sent.box.sizes);
    CHECK(got->to == sent.to);
    CHECK(got->digest);
    const auto plain = parseRequest(R"({"id":1,"ask":"close","of":3,"more":[1]})");
    REQUIRE(plain.has_value());
    CHECK(plain->box.sizes.empty());
    CHECK_FALSE(plain->digest);

    Reply reply{.id = 0, .reply = std::string(reply::kHello), .protocol = 1, .version = "0.1"};
    auto back = parseReply(replyText(reply));
    REQUIRE(back.has_value());
    CHECK(back->protocol == 1);
    CHECK(back->version == "0.1");
    CHECK_FALSE(back->exit.has_value());
    reply = {.id = 4, .reply = std::string(reply::kDone), .exit = 0, .dtype = "bfloat16"};
    back = parseReply(replyText(reply));
    REQUIRE(back.has_value());
    CHECK(back->exit == 0);
    CHECK(back->dtype == "bfloat16");
}

TEST_CASE("what is no message is refused")
{
    for (const char* text :
        {"", "[]", "7", "{", "{}", R"({"id":1})", R"({"ask":"emit"})", R"({"id":0,"ask":"emit"})",
            R"({"id":-1,"ask":"emit"})", R"({"id":1.5,"ask":"emit"})", R"({"id":"1","ask":"emit"})",
            R"({"id":1,"ask":"remove"})", R"({"id":1,"ask":7})", R"({"id":1,"ask":"emit","of":"x"})",
            R"({"id":1,"ask":"emit","to":99999999999})", R"({"id":1,"ask":"elements","sizes":[1]})",
            R"({"id":1,"ask":"elements","sizes":[-1],"offsets":[0]})",
            R"({"id":1,"ask":"elements","sizes":{"a":1},"offsets":[0]})"}) {
        CAPTURE(text);
        const auto request = parseRequest(text);
        REQUIRE_FALSE(request.has_value());
        CHECK(request.error().code == ErrorCode::Damaged);
    }
    CHECK_FALSE(parseReply(R"({"id":1,"reply":"nothing"})").has_value());
    CHECK_FALSE(parseReply(R"({"reply":"done"})").has_value());
    CHECK_FALSE(parseWords("word").has_value());
    CHECK(parseWords("").value().empty());
    const std::vector<std::string> words{"inspect", "", "a b\n", "\xFF"};
    CHECK(parseWords(wordsPayload(words)).value() == words);
}

TEST_CASE("200,000 altered frames: none is misread beyond its bounds")
{
    std::mt19937_64 random(11);
    const std::vector<std::string> good{frame(requestText(everything()), "abc"),
        frame(replyText({.id = 3, .reply = std::string(reply::kDone), .exit = 1, .dtype = "float32"}), ""),
        frame(R"({"id":2,"ask":"answer"})", wordsPayload({"inspect", "runs/llama"}))};
    size_t messages = 0;
    for (int repeat = 0; repeat < 200'000; ++repeat) {
        std::string bytes = good[random() % good.size()] + good[random() % good.size()];
        const size_t changes = random() % 4;
        for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
            const size_t at = random() % bytes.size();
            switch (random() % 4) {
            case 0:
                bytes[at] = static_cast<char>(random());
                break;
            case 1:
                bytes.erase(at, 1 + random() % 8);
                break;
            case 2:
                bytes.insert(at, 1 + random() % 8, static_cast<char>(random()));
                break;
            default:
                bytes[at] ^= static_cast<char>(1 << random() % 8);
                break;
            }
        }
        messages += readAll(bytes, random);
    }
    CHECK(messages > 100'000); // unchanged ones among them
}
