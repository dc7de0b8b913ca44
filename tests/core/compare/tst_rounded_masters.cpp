// SPDX-License-Identifier: Apache-2.0
// One pass over the files finds which masters round to their 16-bit copies.
#include "core/checkpoint/open/open.h"
#include "core/checkpoint/zero/zenflow.h"
#include "core/compare/diff/state_diff.h"
#include "core/compare/digest/copies_of_masters.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace shardscope;
namespace fs = std::filesystem;

namespace {

struct Found {
    size_t copies = 0;
    std::vector<std::string> unlike; ///< names, by the scan
    std::vector<std::string> stale; ///< names, by comparing values
};

Found findIn(const CheckpointPtr& checkpoint)
{
    JobContext job;
    const TensorTable table(checkpoint);
    const CopiesOfMasters copies(*checkpoint, table);
    Found out;
    for (uint32_t i = 0; i < table.size(); ++i)
        out.copies += copies.copyOf(i) ? 1U : 0U;
    const auto scan = scanCheckpoint(io::realFileSystem(), checkpoint, {2, plainBackend()},
        {.digest = io::DigestKind::None, .roundedMasters = true}, job);
    REQUIRE(scan);
    for (const ParamId param : copies.unlikeCopies(table, *scan))
        out.unlike.push_back(checkpoint->params[index(param)].name);
    DiffOptions options;
    options.states = {"fp32"};
    const auto diff = diffStates(io::realFileSystem(), *checkpoint, *checkpoint, options, job);
    REQUIRE(diff);
    out.stale = diff->staleCopiesLeft;
    return out;
}

} // namespace

TEST_CASE("a scan knows that the masters of the samples round to their copies, without reading them again")
{
    size_t copies = 0;
    for (const auto& folder : fs::directory_iterator(fs::path(sourceFolder()) / "tests/data/samples")) {
        if (!folder.is_directory())
            continue;
        CAPTURE(folder.path().string());
        JobContext job;
        const auto opened = openCheckpoint(io::realFileSystem(), folder.path(), {}, job);
        REQUIRE(opened);
        if (opened->checkpoint->modelError)
            continue;
        const Found found = findIn(opened->checkpoint);
        copies += found.copies;
        for (const std::string& name : found.stale)
            CHECK(std::find(found.unlike.begin(), found.unlike.end(), name) != found.unlike.end());
        CAPTURE(found.unlike.size());
        CAPTURE(found.copies);
        CHECK((found.unlike.empty() || hasZenFlow(*opened->checkpoint)));
    }
    CHECK(copies > 500);
}
