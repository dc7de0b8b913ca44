// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/chunk_sink.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

using namespace shardscope;

namespace {

/// Pours a text in random steps; the sink's status.
Status pour(ChunkSink& sink, const std::string& text, std::mt19937_64& random)
{
    size_t at = 0;
    while (at < text.size()) {
        SHARDSCOPE_TRY(const auto room, sink.room(1 + random() % 16));
        const size_t count
            = std::min({room.size(), text.size() - at, static_cast<size_t>(1 + random() % 100)});
        std::memcpy(room.data(), text.data() + at, count);
        sink.filled(count);
        at += count;
        CHECK(sink.offset() == at);
    }
    return sink.finish();
}

} // namespace

TEST_CASE("bytes arrive whole and in order, with and without a second thread")
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 100; ++round) {
        std::string text(random() % 4000, '\0');
        for (char& c : text)
            c = static_cast<char>(random());
        ChunkBuffers buffers(1 + random() % 4, 16 + random() % 100, plainBackend());
        std::string found;
        ChunkSink sink(
            buffers, round % 2 == 0, [&](uint64_t offset, std::span<const uint8_t> bytes) -> Status {
                CHECK(offset == found.size());
                CHECK(bytes.size() <= buffers.bytes());
                found.append(bytes.begin(), bytes.end());
                return {};
            });
        REQUIRE(pour(sink, text, random));
        CHECK(found == text);
    }
}

TEST_CASE("a consumer's failure comes back and ends the work")
{
    std::mt19937_64 random(2);
    for (int round = 0; round < 60; ++round) {
        const uint64_t failAt = random() % 3000;
        ChunkBuffers buffers(3, 64, plainBackend());
        int callsAfter = 0;
        bool failed = false;
        ChunkSink sink(
            buffers, round % 2 == 0, [&](uint64_t offset, std::span<const uint8_t> bytes) -> Status {
                callsAfter += failed ? 1 : 0;
                if (failAt >= offset + bytes.size())
                    return {};
                failed = true;
                return fail(ErrorCode::NoSpace, "full");
            });
        const Status status = pour(sink, std::string(3000, 'x'), random);
        REQUIRE_FALSE(status);
        CHECK(status.error().code == ErrorCode::NoSpace);
        CHECK(callsAfter == 0);
    }
}

TEST_CASE("destroying an unfinished sink ends its thread")
{
    for (int round = 0; round < 50; ++round) {
        ChunkBuffers buffers(2, 32, plainBackend());
        ChunkSink sink(buffers, true, [](uint64_t, std::span<const uint8_t>) -> Status { return {}; });
        for (int i = 0; i < round; ++i) {
            const auto room = sink.room(1);
            REQUIRE(room);
            std::memset(room->data(), 0, room->size());
            sink.filled(room->size());
        }
    }
}
