// SPDX-License-Identifier: Apache-2.0
// The engine on real reshard plans: its files equal the naive writer's, and the committed result verifies.
#include "core/checkpoint/open/open.h"
#include "core/engine/verify/verify.h"
#include "core/engine/write/execute.h"
#include "core/plan/reshard/reshard.h"
#include "tests/support/places.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

CheckpointPtr open(const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return opened->checkpoint;
}

} // namespace

TEST_CASE("an executed reshard has the bytes of the naive writer, verifies and is named in latest")
{
    for (const char* name :
        {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "aligned-w2"}) {
        const CheckpointPtr source = open(kSamples / name);
        for (const uint32_t ranks : {1u, 3u, 5u}) {
            CAPTURE(name);
            CAPTURE(ranks);
            JobContext job;
            const auto plan = planReshard(io::realFileSystem(), source, {.worldSize = ranks}, job);
            REQUIRE(plan.has_value());
            const test::TemporaryFolder folder;
            ExecuteOptions options;
            options.destination = folder / "out";
            options.sourceRunFolder = source->runFolder;
            const auto report = execute(io::realFileSystem(), **plan, options, job);
            REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
            CHECK(report->verified);
            CHECK(report->bytesWritten > 0);
            for (size_t i = 0; i < (*plan)->files.size(); ++i)
                CHECK(test::slurp(report->output / (*plan)->files[i].path) == test::plainBytes(**plan, i));
            CHECK(test::slurp(folder / "out/latest") == source->tag);

            const CheckpointPtr result = open(folder / "out");
            const auto verified = verifyCheckpoint(io::realFileSystem(), result, {source}, 2, job);
            REQUIRE(verified.has_value());
            for (const Finding& problem : verified->problems)
                MESSAGE(problem.code, " ", problem.where.text(), ": ", problem.message);
            CHECK(verified->ok);
            CHECK(verified->isCompared());
            CHECK(verified->fingerprint == report->fingerprint);
        }
    }
}
