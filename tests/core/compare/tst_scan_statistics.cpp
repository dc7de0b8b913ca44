// SPDX-License-Identifier: Apache-2.0
// One pass over the files finds the same statistics as reading tensor by tensor.
#include "core/checkpoint/open/open.h"
#include "core/compare/digest/state_digest.h"
#include "core/compare/digest/tensor_statistics.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace shardscope;
namespace fs = std::filesystem;

TEST_CASE("a scan has the statistics of every tensor of the samples")
{
    JobContext job;
    size_t compared = 0;
    for (const auto& folder : fs::directory_iterator(fs::path(sourceFolder()) / "tests/data/samples")) {
        if (!folder.is_directory())
            continue;
        CAPTURE(folder.path().string());
        const auto opened = openCheckpoint(io::realFileSystem(), folder.path(), {}, job);
        REQUIRE(opened);
        const CheckpointPtr checkpoint = opened->checkpoint;
        if (checkpoint->modelError)
            continue;
        const auto scan = scanCheckpoint(io::realFileSystem(), checkpoint, {2, plainBackend()},
            {.digest = io::DigestKind::None, .statistics = true}, job);
        REQUIRE(scan);
        const TensorTable table(checkpoint);
        REQUIRE(scan->statistics.size() == table.size());
        std::vector<TensorAsked> tensors;
        std::vector<uint32_t> numbers;
        for (uint32_t i = 0; i < table.size(); ++i) {
            const TensorTable::Entry entry = table.entry(i);
            const uint64_t elements = checkpoint->params[index(entry.param)].elements;
            if (scan->statistics[i].elements != elements || !hasStatistics(entry.dtype))
                continue; // read again by whoever needs them
            tensors.push_back({entry.param, std::string(entry.state)});
            numbers.push_back(i);
        }
        size_t next = 0;
        REQUIRE(computeStatistics(io::realFileSystem(), {*checkpoint, tensors, true}, {2, plainBackend()},
            job, [&](const TensorStatistics& one) -> Status {
                const Statistics& found = scan->statistics[numbers[next++]];
                CHECK(found.elements == one.found.elements);
                CHECK(found.zeros == one.found.zeros);
                CHECK(found.nans == one.found.nans);
                CHECK(found.infinities == one.found.infinities);
                CHECK(found.min == one.found.min);
                CHECK(found.max == one.found.max);
                CHECK(found.l2() == doctest::Approx(one.found.l2()).epsilon(1e-9));
                ++compared;
                return {};
            }));
    }
    CHECK(compared > 1000);
}
