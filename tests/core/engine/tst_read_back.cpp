// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_read_back.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("whoever a failure stops finds its reason")
{
    for (int round = 0; round < 2000; ++round) {
        JobContext job;
        Halt halt(job);
        PieceReadBack readBack(
            1, 4096, plainBackend(), halt, [](const PieceRecord&, ChunkBuffers&) -> Status {
                return fail(ErrorCode::VerifyFailed, "other");
            });
        readBack.add({});
        while (halt.poll()) { }
        const Status ended = readBack.endAfter(fail(ErrorCode::Cancelled, "stopped"));
        REQUIRE_FALSE(ended);
        CHECK(ended.error().code == ErrorCode::VerifyFailed);
    }
}
