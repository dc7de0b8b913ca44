// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/part_writer.h"
#include "core/engine/parts/piece_read_back.h"
#include "tests/core/engine/execute_fixture.h"

#include <atomic>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

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

TEST_CASE("after a stop, the files are left when no piece is being read back any more")
{
    const Bench bench;
    const MemoryPlan memory = divideMemory(uint64_t{64} << 20, 2, 4, true);
    REQUIRE(memory.buffersPerWorker > 1); // reads back in threads of its own
    StageTimes times;
    std::filesystem::create_directories(bench.destination());
    const PartResources resources{memory, plainBackend(), times, [&](const std::string& path) {
                                      return bench.destination()
                                          / std::to_string(std::hash<std::string>{}(path));
                                  }};
    std::vector<FilePiece> pieces;
    for (uint32_t file = 0; file < bench.plan.files.size(); ++file)
        pieces.push_back({file, {0, bench.plan.files[file].bytes}});

    std::stop_source stop;
    JobContext job(stop.get_token());
    std::atomic<int> inEvents = 0;
    bool isLeft = false;
    const PartEvents events{[](PieceRecord&) -> Status { return {}; },
        [&](const FilePiece&) -> Status {
            ++inEvents;
            CHECK_FALSE(isLeft);
            stop.request_stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            --inEvents;
            return {};
        },
        [&](std::span<const FileRun> runs) -> Status {
            CHECK(inEvents == 0);
            CHECK(runs.size() > 0);
            isLeft = true;
            return {};
        }};
    PartWriter writer(io::realFileSystem(), bench.plan, resources, job);
    const Status written = writer.write(pieces, {}, ReadsBack{.own = true}, events);
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::Cancelled);
    CHECK(isLeft);
}
