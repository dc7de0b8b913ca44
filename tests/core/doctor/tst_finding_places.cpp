// SPDX-License-Identifier: Apache-2.0
// What findings touch: parameters, ranks, units and files, decided once for all views.
#include "core/layout/finding_places.h"
#include "core/layout/lost_shares.h"
#include "core/layout/whole_units.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"
#include "tests/support/synthetic_checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

using namespace shardscope;
using namespace shardscope::test;
using Numbers = FindingPlaces::Numbers;

namespace {

FindingPlaces placesOf(const CheckpointPtr& checkpoint, std::vector<Finding> findings)
{
    return {checkpoint, std::make_shared<const std::vector<Finding>>(std::move(findings))};
}

Finding errorAt(Place where, std::vector<Place> parts = {}, std::string_view of = "non-finite")
{
    return {of, Severity::Error, "wrong", std::move(where), {}, {}, std::move(parts)};
}

/// The worst mark on the map of a whole tensor.
int markOn(const CheckpointPtr& checkpoint, const WholeTensor& tensor, const std::vector<Finding>& findings)
{
    const PlacedFindings placed(*checkpoint, findings);
    const auto unit = unitOf(*checkpoint, tensor);
    return SeverityIndex(*checkpoint, *unit, kNoUnit, 0, placed)
        .worst(unit->partition, 0, 1, 0, unit->partition.partitionElements());
}

} // namespace

TEST_CASE("NaN in one rank's part of a parameter touches the rank, its file and its group")
{
    const Patchable copy("zero2-w2");
    copy.operate("bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", [](Surgery& surgery) {
        surgery.editTensor({"optimizer_state_dict", "base_optimizer_state", "state", 0, "exp_avg"},
            [](std::string& elements) {
                const float nan = std::numeric_limits<float>::quiet_NaN();
                std::memcpy(elements.data() + 40 * sizeof nan, &nan, sizeof nan);
            });
    });
    const CheckResult result = copy.check(CheckDepth::Bytes);
    const DoctorFinding& found = requireFinding(result, "non-finite");
    const CheckpointPtr& checkpoint = result.checkpoint;
    const ParamId param = *checkpoint->findParam(found.finding.where.param()->name);
    const FindingPlaces places = placesOf(checkpoint, {found.finding});
    CHECK(places.ofParam(param) == Numbers{0});
    CHECK(places.ofRank({1, 0, 0}) == Numbers{0});
    CHECK(places.ofRank({0, 0, 0}).empty());
    CHECK(places.ofFile(checkpoint->optimFiles[1]) == Numbers{0});
    CHECK(places.ofFile(checkpoint->optimFiles[0]).empty());
    CHECK(places.ofUnit(checkpoint->params[index(param)].unit) == Numbers{0});
    size_t touched = 0;
    for (uint32_t i = 0; i < checkpoint->params.size(); ++i)
        touched += places.ofParam(ParamId{i}).size();
    CHECK(touched == 1);
}

TEST_CASE("all parameters that a finding names are touched, with the names tied to them")
{
    SyntheticOptions options;
    options.aliases = 1;
    const CheckpointPtr checkpoint = makeSyntheticCheckpoint(options);
    const auto alias = checkpoint->findParam("alias.0.weight");
    REQUIRE(alias);
    const ParamId owner = checkpoint->params[index(*alias)].sharedWith;
    const ParamId other{index(owner) + 3};
    const auto nameOf = [&](ParamId id) { return checkpoint->params[index(id)].name; };
    const ParamAddress first{nameOf(*alias), "fp32"};
    const FindingPlaces places
        = placesOf(checkpoint, {errorAt(first, {first, ParamAddress{nameOf(other), "fp32"}})});
    for (const ParamId id : {owner, *alias, other})
        CHECK(places.ofParam(id) == Numbers{0});
    CHECK(places.ofParam(ParamId{index(owner) + 1}).empty());
}

TEST_CASE("a finding that names the same places again and again keeps each once")
{
    const CheckpointPtr checkpoint = makeSyntheticCheckpoint({});
    std::vector<Place> parts;
    for (size_t i = 0; i < 20'000; ++i)
        parts.emplace_back(ParamAddress{checkpoint->params[i % 2].name, "fp32"});
    const FindingPlaces places = placesOf(checkpoint, {errorAt(parts.front(), parts)});
    const FindingPlaces two = placesOf(checkpoint, {errorAt(parts.front(), {parts[0], parts[1]})});
    const TouchedPlaces& touched = places.touched(0);
    CHECK(touched.params == two.touched(0).params);
    CHECK(touched.ranks == two.touched(0).ranks);
    CHECK(touched.files == two.touched(0).files);
    CHECK(touched.units == two.touched(0).units);
    CHECK(touched.ranks.size() > 1);
    for (const size_t room : {touched.params.capacity(), touched.ranks.capacity(), touched.files.capacity()})
        CHECK(room <= 1024);
}

TEST_CASE("a diagnosis names all of its parameters")
{
    const Patchable copy("zero3-w4");
    for (const char* name : {"layers.0.mlp.up.weight", "norm.weight"})
        copy.operateOnAll("model_states.pt", [&](Surgery& surgery) { surgery.remove({"module"}, name); });
    const CheckResult result = copy.check();
    const DoctorFinding* found = findingOf(result, "model-changed");
    REQUIRE(found != nullptr);
    const FindingPlaces places = placesOf(result.checkpoint, {found->finding});
    for (const char* name : {"layers.0.mlp.up.weight", "norm.weight"})
        CHECK(places.ofParam(*result.checkpoint->findParam(name)).size() == 1);
}

TEST_CASE("a lost file touches what is lost with it")
{
    const Patchable copy("zero2-w2");
    std::filesystem::remove(copy.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const CheckpointPtr checkpoint = opened(copy.run());
    const FindingPlaces places = placesOf(checkpoint, checkpoint->findings);
    uint32_t lost = 0;
    while (lost < checkpoint->findings.size() && checkpoint->findings[lost].code != "rank-missing")
        ++lost;
    REQUIRE(lost < checkpoint->findings.size());
    const auto touches = [&](const Numbers& there) { return std::ranges::count(there, lost) > 0; };
    CHECK(touches(places.ofRank({1, 0, 0})));
    CHECK_FALSE(touches(places.ofRank({0, 0, 0})));
    const LostShares shares(*checkpoint);
    std::set<ParamId> visited;
    places.forEachParam(lost, [&](ParamId id) { visited.insert(id); });
    for (uint32_t i = 0; i < checkpoint->params.size(); ++i) {
        CAPTURE(checkpoint->params[i].name);
        const ParamId tiedTo = checkpoint->params[i].sharedWith;
        CHECK(visited.contains(ParamId{i}) == !shares.of(ParamId{i}).empty());
        CHECK(touches(places.ofParam(ParamId{i}))
            == !shares.of(tiedTo == kNoParam ? ParamId{i} : tiedTo).empty());
        const Numbers all = places.ofParam(ParamId{i});
        CHECK(places.hasMark(ParamId{i}) == std::ranges::any_of(all, [&](uint32_t finding) {
            return checkpoint->findings[finding].severity != Severity::Info;
        }));
    }
    for (uint32_t u = 0; u < checkpoint->units.size(); ++u)
        CHECK(touches(places.ofUnit(UnitId{u})) == !shares.of(UnitId{u}).empty());
}

TEST_CASE("a buffer of a rank, a rank, a record")
{
    const CheckpointPtr checkpoint
        = opened(std::filesystem::path(sourceFolder()) / "tests/data/samples/zero2-w2");
    const FlatUnit& unit = checkpoint->units[1];
    FlatAddress some = flatAddressOf(*checkpoint, unit, 0, 1, "exp_avg");
    some.end = 2;
    const std::string& file = checkpoint->file(checkpoint->optimFiles[1]).name;
    const auto& run = unit.states[0].perRank[1];
    const std::string record = checkpoint->file(run.file).content->zip().records()[run.record].name;
    const FindingPlaces places = placesOf(checkpoint,
        {errorAt(flatAddressOf(*checkpoint, unit, 1, 0, "fp32")), errorAt(some),
            errorAt(RankCoordinate{1, 0, 0}), errorAt(RecordPlace{file, record}), errorAt({})});
    CHECK(places.ofRank({1, 0, 0}) == Numbers{0, 2, 3});
    CHECK(places.ofRank({0, 0, 0}) == Numbers{1});
    CHECK(places.ofUnit(UnitId{1}) == Numbers{0, 1, 3});
    CHECK(places.ofUnit(UnitId{0}).empty());
    CHECK(places.ofFile(run.file) == Numbers{0, 3});
    const auto there = [&](uint32_t share, uint64_t element) {
        const Numbers found = places.ofParam(unit.params[unit.partition.paramNear(share, element)]);
        return std::set<uint32_t>(found.begin(), found.end());
    };
    CHECK(there(0, 1).contains(1));
    CHECK(there(1, unit.partition.payloadOn(1) - 1).contains(0));
    CHECK(there(1, unit.partition.payloadOn(1) - 1).contains(3));
    CHECK(places.touched(4).params.empty());
}

TEST_CASE("what is absent is not marked on weights that are there")
{
    const Patchable copy("zero2-w2");
    for (const std::string& name : copy.filesLike("optim_states.pt"))
        std::filesystem::remove(copy.tag() / name);
    const CheckpointPtr checkpoint = opened(copy.run());
    const auto found = std::ranges::find(checkpoint->findings, "optimizer-missing", &Finding::code);
    REQUIRE(found != checkpoint->findings.end());
    CHECK(found->severity == Severity::Error);
    REQUIRE_FALSE(checkpoint->whole.empty());
    CHECK(markOn(checkpoint, checkpoint->whole.front(), {*found}) < 2);
    // Damage of the same file is marked.
    CHECK(markOn(checkpoint, checkpoint->whole.front(), {errorAt(found->where)}) == 2);
    // It is an error of the file.
    const FindingPlaces places = placesOf(checkpoint, {*found});
    CHECK(places.ofFile(checkpoint->templateModel) == Numbers{0});
}

TEST_CASE("findings of 4,096 ranks × 300,000 parameters")
{
    SyntheticOptions options;
    options.ranks = 4'096;
    options.params = 300'000;
    options.missingRanks = {7, 8};
    const CheckpointPtr checkpoint = makeSyntheticCheckpoint(options);
    std::vector<Finding> findings = checkpoint->findings;
    for (uint32_t i = 0; i < 200; ++i)
        findings.push_back(errorAt(ParamAddress{checkpoint->params[i * 100].name, "fp32"}));
    const auto began = std::chrono::steady_clock::now();
    const FindingPlaces places = placesOf(checkpoint, findings);
    const auto took = std::chrono::steady_clock::now() - began;
    MESSAGE("places: " << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms");
    CHECK_FALSE(places.ofParam(ParamId{100}).empty());
    CHECK_FALSE(places.ofRank({7, 0, 0}).empty());
}
