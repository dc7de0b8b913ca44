// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/read_back.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::unique_ptr<io::ReadFile> opened(const io::Path& path)
{
    auto file = io::realFileSystem().openRead(path);
    REQUIRE(file);
    return std::move(*file);
}

} // namespace

TEST_CASE("files that other writers began, or gave up, do not hold up one that is complete")
{
    const TemporaryFolder folder;
    const std::string content = "some content";
    const io::Path path = folder / "file";
    spill(path, content);
    io::ChunkDigests digest;
    digest.update({reinterpret_cast<const uint8_t*>(content.data()), content.size()});
    const auto chunks = digest.finish();

    JobContext job;
    Halt halt(job);
    StageTimes times;
    ReadBack readBack(2, 65536, plainBackend(), times, halt);
    // As with --jobs 100 and a full disk: none of them is ever completed.
    for (int i = 0; i < 100; ++i)
        readBack.begin(opened(path), path, {});
    auto done = std::async(std::launch::async, [&] {
        for (int i = 0; i < 50; ++i) {
            const auto file = readBack.begin(opened(path), path, {});
            readBack.add(file, chunks.front());
            readBack.complete(file, {});
        }
        return readBack.finish();
    });
    if (done.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
        std::cerr << "a writer waits for files that are not complete\n";
        std::_Exit(1); // its thread cannot be ended
    }
    CHECK(done.get());
}

TEST_CASE("whoever a failure stops finds its reason")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "file";
    spill(path, "other content");
    for (int round = 0; round < 2000; ++round) {
        JobContext job;
        Halt halt(job);
        StageTimes times;
        ReadBack readBack(1, 4096, plainBackend(), times, halt);
        readBack.add(readBack.begin(opened(path), path, {}), {});
        while (halt.poll()) { }
        const auto failure = readBack.failure();
        REQUIRE(failure);
        CHECK(failure->code == ErrorCode::VerifyFailed);
    }
}
