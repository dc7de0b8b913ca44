// SPDX-License-Identifier: Apache-2.0
// Findings at depth bytes only: impossible values, and masters of another model than the copies.
#include "core/layout/severity_index.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>

using namespace shardscope;
using namespace shardscope::test;
using Codes = std::set<std::string>;

namespace {

const Way kMasters{"optimizer_state_dict", "single_partition_of_fp32_groups", 0};

void poke(std::string& elements, size_t element, float value)
{
    REQUIRE((element + 1) * sizeof value <= elements.size());
    std::memcpy(elements.data() + element * sizeof value, &value, sizeof value);
}

} // namespace

TEST_CASE("NaN in a moment and a negative mean of squares, by their addresses")
{
    const Patchable copy("zero2-w2"); // group 0 begins with wq, 256 elements
    copy.operate("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", [](Surgery& surgery) {
        const Way state{"optimizer_state_dict", "base_optimizer_state", "state", 0};
        Way average = state;
        average.emplace_back("exp_avg");
        surgery.editTensor(average,
            [](std::string& elements) { poke(elements, 300, std::numeric_limits<float>::quiet_NaN()); });
        Way squares = state;
        squares.emplace_back("exp_avg_sq");
        surgery.editTensor(squares, [](std::string& elements) { poke(elements, 7, -1e-9F); });
    });
    CHECK(troubles(copy.check()).empty()); // only the bytes show it
    const CheckResult result = copy.check(CheckDepth::Bytes);
    CHECK(troubles(result) == Codes{"non-finite"});
    std::set<std::string> places;
    for (const DoctorFinding& found : result.findings) {
        if (found.finding.code == "non-finite")
            places.insert(found.finding.where.text());
    }
    CHECK(places
        == Codes{
            "layers.0.attention.wk.weight#exp_avg[44:45]", "layers.0.attention.wq.weight#exp_avg_sq[7:8]"});
}

TEST_CASE("each run of NaN is a part of the finding")
{
    const Patchable copy("zero2-w2");
    copy.operate("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"optimizer_state_dict", "base_optimizer_state", "state", 0, "exp_avg"},
            [](std::string& elements) {
                for (const size_t i : {3, 4, 5, 90, 200, 201})
                    poke(elements, i, std::numeric_limits<float>::quiet_NaN());
            });
    });
    const CheckResult result = copy.check(CheckDepth::Bytes);
    const auto found = std::find_if(result.findings.begin(), result.findings.end(),
        [](const DoctorFinding& made) { return made.finding.code == "non-finite"; });
    REQUIRE(found != result.findings.end());
    CHECK(found->finding.where.text() == "layers.0.attention.wq.weight#exp_avg[3:202]");
    CHECK(found->finding.evidence
        == std::vector<std::string>{"layers.0.attention.wq.weight#exp_avg[3:6]",
            "layers.0.attention.wq.weight#exp_avg[90:91]", "layers.0.attention.wq.weight#exp_avg[200:202]"});
    REQUIRE(found->finding.parts.size() == 3);
    CHECK(found->finding.parts[1].text() == "layers.0.attention.wq.weight#exp_avg[90:91]");

    // The map marks these elements and no others.
    const CheckpointPtr checkpoint = result.checkpoint;
    const Parameter& param
        = checkpoint->params[index(*checkpoint->findParam("layers.0.attention.wq.weight"))];
    const FlatUnit& unit = checkpoint->units[index(param.unit)];
    const auto state = std::find_if(unit.states.begin(), unit.states.end(),
        [](const UnitState& candidate) { return candidate.name == "exp_avg"; });
    const std::vector<Finding> more{found->finding};
    const PlacedFindings placed(*checkpoint, more);
    const SeverityIndex marks(
        *checkpoint, unit, param.unit, static_cast<uint32_t>(state - unit.states.begin()), placed);
    std::set<uint64_t> marked;
    for (uint64_t i = 0; i < param.elements; ++i) {
        const uint64_t at = unit.partition.paramStart(param.indexInUnit) + i;
        if (marks.worst(unit.partition, 0, 1, at, at + 1) == 2)
            marked.insert(i);
    }
    CHECK(marked == std::set<uint64_t>{3, 4, 5, 90, 200, 201});
}

TEST_CASE("some masters are not the values that the copies were rounded from")
{
    const Patchable copy("zero2-w2");
    copy.operate("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", [](Surgery& surgery) {
        surgery.editTensor(kMasters, [](std::string& elements) {
            for (size_t i = 520; i < 540; ++i)
                poke(elements, i, 0.5F);
        });
    });
    const CheckResult result = copy.check(CheckDepth::Bytes);
    CHECK(troubles(result) == Codes{"masters-not-copies"});
    const DoctorFinding& found = requireFinding(result, "masters-not-copies");
    CHECK(found.finding.where.text() == "layers.0.attention.wv.weight#fp32");
    CHECK(found.finding.evidence.empty());
}

TEST_CASE("masters in another order are distinguished from those of another step")
{
    const Patchable copy("roundrobin-w3");
    copy.operateOnAll("optim_states.pt", [](Surgery& surgery) {
        surgery.editTensor(kMasters, [](std::string& elements) { // halves changed over
            const std::string first = elements.substr(0, elements.size() / 8 * 4);
            elements = elements.substr(first.size()) + first;
        });
    });
    const CheckResult result = copy.check(CheckDepth::Bytes);
    const DoctorFinding& found = requireFinding(result, "masters-not-copies");
    CHECK(textOf(found).find("another order") != std::string::npos);
}

TEST_CASE("a universal folder with other masters than the tag next to it")
{
    for (const char* sample : {"zero3-universal-w3", "zero2-universal-w2"}) {
        CAPTURE(sample);
        const std::string tag = slurp(
            std::filesystem::path(sourceFolder()) / "tests/data/samples" / sample / "latest_universal");
        const Patchable copy(sample, tag);
        copy.operate("zero/norm.bias/fp32.pt", [](Surgery& surgery) {
            const bool isTensor = !isMapping(surgery.graph(), surgery.graph().root()); // of ZeRO-3
            surgery.editTensor(
                isTensor ? Way{} : Way{"param"}, [](std::string& elements) { elements[0] ^= 1; });
        });
        CHECK(troubles(copy.check()).empty());
        const CheckResult result = copy.check(CheckDepth::Bytes);
        CHECK(troubles(result) == Codes{"universal-not-source"});
        const DoctorFinding& found = requireFinding(result, "universal-not-source");
        CHECK(found.finding.where.text() == "norm.bias#fp32");
        const std::string source = tag.substr(0, tag.find("_universal"));
        CHECK(found.command == "convert " + (copy.run() / source).string() + " DST --to universal");

        std::filesystem::remove_all(copy.run() / source); // nothing to compare it with
        CHECK(troubles(copy.check(CheckDepth::Bytes)).empty());
    }
}
