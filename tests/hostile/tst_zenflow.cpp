// SPDX-License-Identifier: Apache-2.0
// Records that a checkpoint was saved with ZenFlow, which contradict each other.
#include "tests/hostile/hostile_fixture.h"

#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kModel = "mp_rank_00_model_states.pt";
const Words kOption{"ds_config", "zero_optimization", "zenflow"};

CheckpointPtr opened(const fs::path& path)
{
    auto checkpoint = openFull(path);
    REQUIRE(checkpoint.has_value());
    return *checkpoint;
}

size_t findingsOf(const Checkpoint& checkpoint, std::string_view code, Severity severity)
{
    return static_cast<size_t>(std::count_if(checkpoint.findings.begin(), checkpoint.findings.end(),
        [&](const Finding& finding) { return finding.code == code && finding.severity == severity; }));
}

fs::path tagOf(const fs::path& run)
{
    return run / slurp(run / "latest");
}

} // namespace

TEST_CASE("ZenFlow is on in the configuration only: the masters say it is not")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    replaceAt(tagOf(run) / kModel, kOption, [](PickleBuilder& b) { return b.dict(); });
    const CheckpointPtr checkpoint = opened(run);
    CHECK_FALSE(checkpoint->zenflow);
    CHECK(checkpoint->complete);
    CHECK(findingsOf(*checkpoint, code::kParamOrder, Severity::Warning) == 0); // as that of 0.19.8 does
}

TEST_CASE("ZenFlow is off in the configuration, or none is recorded: masters and copies show it")
{
    for (const bool none : {false, true}) {
        for (const char* name : {"ds0192-zenflow-w2", "ds0192-zenflow-w3"}) {
            CAPTURE(none);
            CAPTURE(name);
            const TemporaryFolder folder;
            const fs::path run = copySample(name, folder);
            replaceAt(tagOf(run) / kModel, none ? Words{"ds_config"} : kOption,
                [none](PickleBuilder& b) { return none ? b.string("/home/me/ds_config.json") : b.none(); });
            const CheckpointPtr checkpoint = opened(run);
            CHECK(checkpoint->zenflow);
            CHECK(checkpoint->complete);
            CHECK(findingsOf(*checkpoint, code::kParamOrder, Severity::Warning) == 1);
        }
    }
}

TEST_CASE("ZenFlow: masters that are near the copies in no order are another run's")
{
    for (const char* name : {"zenflow-w2", "ds0192-zenflow-w2"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample(name, folder);
        const fs::path file = tagOf(run) / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
        const CheckpointPtr before = opened(run);
        std::string bytes = slurp(file);
        for (const FlatUnit& unit : before->units) { // masters backwards: the same values elsewhere
            const StoredRun& masters = unit.states.front().perRank[1];
            std::vector<std::string> items;
            for (uint64_t i = 0; i < masters.elements; ++i)
                items.push_back(bytes.substr(masters.byteOffset + 4 * i, 4));
            std::reverse(items.begin(), items.end());
            for (uint64_t i = 0; i < masters.elements; ++i)
                bytes.replace(masters.byteOffset + 4 * i, 4, items[i]);
        }
        spill(file, bytes);
        const CheckpointPtr checkpoint = opened(run);
        CHECK(checkpoint->zenflow == (name != std::string("zenflow-w2")));
        CHECK(findingsOf(*checkpoint, code::kRankForeign, Severity::Error) == 1);
        CHECK_FALSE(checkpoint->complete);
    }
}
