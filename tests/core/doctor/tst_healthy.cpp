// SPDX-License-Identifier: Apache-2.0
// No false alarms: undamaged files of stock DeepSpeed have no finding above info, at any depth.
#include "tests/support/damages.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Releases before 0.9.2 record no ties in ZeRO-3, which is a loss and no false alarm. So is a lost
/// optimizer.
std::set<std::string> rightly(const std::string& sample)
{
    if (sample.starts_with("ds053-zero3-w3") || sample.starts_with("ds083-zero3-w2"))
        return {"alias-unrecorded"};
    if (sample.starts_with("ds0184-stage0-bf16")) // in bf16 without ZeRO it did not save the optimizer
        return {"optimizer-missing"};
    return {};
}

} // namespace

TEST_CASE("no finding above info in any sample, at any depth")
{
    for (const std::string& sample : allSamples()) {
        CAPTURE(sample);
        const Patchable copy(sample);
        for (const CheckDepth depth :
            {CheckDepth::Names, CheckDepth::Headers, CheckDepth::Metadata, CheckDepth::Bytes}) {
            CAPTURE(checkDepthName(depth));
            const CheckResult result = copy.check(depth);
            std::string texts;
            for (const DoctorFinding& found : result.findings)
                texts += std::string(found.finding.code) + " " + textOf(found) + "\n";
            CAPTURE(texts);
            CHECK(troubles(result)
                == (depth < CheckDepth::Metadata ? std::set<std::string>() : rightly(sample)));
        }
    }
}
