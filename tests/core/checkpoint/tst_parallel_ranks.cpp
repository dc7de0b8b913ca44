// SPDX-License-Identifier: Apache-2.0
// Tensor slices, pipeline stages and experts: one model of many holders.
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/require.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

bool hasFinding(const Checkpoint& checkpoint, std::string_view code, std::string_view where)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(), [&](const Finding& finding) {
        return finding.code == code && finding.severity == Severity::Error
            && finding.where.text().find(where) != std::string::npos;
    });
}

/// Every place of every rank's buffers leads to an element or to padding, and back to the same place.
void checkAddresses(const Checkpoint& checkpoint)
{
    size_t places = 0;
    for (const FlatUnit& unit : checkpoint.units) {
        for (uint32_t share = 0; share < unit.partition.ranks(); ++share) {
            for (uint64_t element = 0; element < unit.partition.partitionElements(); element += 5) {
                const FlatAddress address{checkpoint.rankOf(unit, share), unit.subgroup.has_value(),
                    unit.subgroup.value_or(static_cast<uint32_t>(unit.group)), element, "exp_avg"};
                const auto found = locate(checkpoint, address);
                REQUIRE_MESSAGE(found.has_value(), formatAddress(Address(address)));
                if (found->padding)
                    continue;
                REQUIRE(found->param);
                const auto back = locate(checkpoint, *found->param);
                REQUIRE(back.has_value());
                CHECK(formatAddress(Address(*back->flat)) == formatAddress(Address(address)));
                REQUIRE(found->file);
                const auto fromFile = locate(checkpoint, *found->file);
                REQUIRE(fromFile.has_value());
                CHECK(formatAddress(Address(*fromFile->flat)) == formatAddress(Address(address)));
                ++places;
            }
        }
    }
    CHECK(places > 100);
}

} // namespace

TEST_CASE("an address leads to the same place from every part, rank and file")
{
    for (const char* sample : {"experts-w4", "autoep-w4", "pipeline-w4", "slices-w4"}) {
        CAPTURE(sample);
        checkAddresses(*opened(kSamples / sample));
    }
}

TEST_CASE("pipeline stages are parts with layers of their own and copies in the layer files")
{
    const CheckpointPtr checkpoint = opened(kSamples / "pipeline-w4");
    REQUIRE(checkpoint->parts.size() == 2);
    CHECK(checkpoint->parallel.dp == 2);
    CHECK(checkpoint->parallel.pp == 2);
    CHECK(checkpoint->parallel.tp == 1);
    CHECK(checkpoint->parallel.ranks() == 4);
    CHECK(checkpoint->parts[1]->place == RankCoordinate{0, 0, 1});
    // Trained on both stages, so that each has masters of its own.
    CHECK(!checkpoint->findParam("tied_modules.embed.weight"));
    const auto first = checkpoint->findParam("tied_modules.embed.weight:pp0");
    const auto second = checkpoint->findParam("tied_modules.embed.weight:pp1");
    REQUIRE(first);
    REQUIRE(second);
    CHECK(checkpoint->unitOf(*first)->part == 0);
    CHECK(checkpoint->unitOf(*second)->part == 1);
    for (const char* name : {"1.up.weight", "4.down.bias", "5.weight", "3.seen"}) {
        CAPTURE(name);
        const auto param = checkpoint->findParam(name);
        REQUIRE(param);
        const WholeTensor* whole = checkpoint->wholeOf(*param);
        REQUIRE(whole != nullptr);
        const std::string layer = std::string("layer_0") + name[0] + "-model_states.pt";
        CHECK(checkpoint->file(whole->run.file).name == layer);
    }
    CHECK(checkpoint->params[index(*checkpoint->findParam("4.seen"))].role == ParamRole::Buffer);
    const WholeTensor* tied = checkpoint->wholeOf(*first);
    REQUIRE(tied != nullptr);
    CHECK(checkpoint->file(tied->run.file).name == "layer_00-model_states.pt");
    CHECK(checkpoint->wholeOf(*second) == nullptr); // saved by the first stage alone
    CHECK(checkpoint->precision == "bf16");
}

TEST_CASE("tensor slices of one parameter are separate parts")
{
    const CheckpointPtr checkpoint = opened(kSamples / "slices-w4");
    CHECK(checkpoint->parallel.tp == 2);
    CHECK(checkpoint->parallel.pp == 1);
    const auto slice = checkpoint->findParam("layers.1.up_proj.weight:tp1");
    REQUIRE(slice);
    CHECK(checkpoint->params[index(*slice)].shape == Shape{24, 12});
    CHECK(checkpoint->rankOf(*checkpoint->unitOf(*slice), 1) == RankCoordinate{1, 1, 0});
    REQUIRE(checkpoint->groups.size() == 1);
    CHECK(checkpoint->groups.front().units.size() == 2);
    CHECK(checkpoint->groups.front().parameters == 30);
    CHECK(checkpoint->groups.front().options != kNoNode);
}

TEST_CASE("experts are partitioned over the ranks that hold them, under the numbers of all")
{
    const CheckpointPtr checkpoint = opened(kSamples / "experts-w4");
    CHECK(checkpoint->parts.empty());
    CHECK(checkpoint->parallel.dp == 4);
    CHECK(checkpoint->parallel.ep == 2);
    const auto third = checkpoint->findParam("blocks.0.deepspeed_moe.experts.deepspeed_experts.3.0.weight");
    REQUIRE(third);
    const FlatUnit& unit = *checkpoint->unitOf(*third);
    CHECK(unit.partition.ranks() == 2);
    CHECK(unit.firstRank == 1);
    CHECK(unit.rankStride == 2);
    CHECK(unit.dpRankOf(1) == 3);
    CHECK(unit.partitionRankOf(3) == 1u);
    CHECK(!unit.partitionRankOf(2));
    const WholeTensor* whole = checkpoint->wholeOf(*third);
    REQUIRE(whole != nullptr);
    CHECK(checkpoint->file(whole->run.file).name == "layer_0_expert_3_mp_rank_00_model_states.pt");
    CHECK(LocalNames(*checkpoint, unit).of(*third)
        == "blocks.0.deepspeed_moe.experts.deepspeed_experts.1.0.weight");
    // Dense parameters are on all ranks.
    CHECK(checkpoint->unitOf(*checkpoint->findParam("head.weight"))->partition.ranks() == 4);
    CHECK(checkpoint->unitsOn({3, 0, 0}).size() == 4);
}

TEST_CASE("the first snapshot has all parts, and the other ranks follow")
{
    const CheckpointPtr checkpoint = opened(kSamples / "pipeline-w4", {}, OpenDepth::Structure);
    CHECK(!checkpoint->modelError);
    CHECK(!checkpoint->complete);
    CHECK(checkpoint->parts.size() == 2);
    CHECK(checkpoint->findParam("5.weight"));
}

TEST_CASE("missing files of a parallel checkpoint are named")
{
    SUBCASE("all files of a stage")
    {
        const Patchable copy("pipeline-w4");
        for (const char* name :
            {"mp_rank_01_model_states.pt", "bf16_zero_pp_rank_0_mp_rank_01_optim_states.pt",
                "bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt"})
            std::filesystem::remove(copy.tag() / name);
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(hasFinding(*checkpoint, "rank-missing", "mp_rank_01"));
        CHECK(!checkpoint->complete);
        CHECK(!requireComplete(*checkpoint));
    }
    SUBCASE("one rank of a slice")
    {
        const Patchable copy("slices-w4");
        std::filesystem::remove(copy.tag() / "bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt");
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(hasFinding(*checkpoint, "rank-missing", "bf16_zero_pp_rank_1_mp_rank_01"));
        CHECK(!checkpoint->complete);
        CHECK(!checkpoint->modelError);
    }
    SUBCASE("a layer's file")
    {
        const Patchable copy("pipeline-w4");
        std::filesystem::remove(copy.tag() / "layer_04-model_states.pt");
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(hasFinding(*checkpoint, "model-states-missing", "layer_04-model_states.pt"));
        CHECK(!checkpoint->complete);
    }
    SUBCASE("an expert's file")
    {
        const Patchable copy("experts-w4");
        std::filesystem::remove(copy.tag() / "layer_1_expert_1_mp_rank_00_model_states.pt");
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(hasFinding(*checkpoint, "model-states-missing", "deepspeed_experts.1"));
        CHECK(!checkpoint->complete);
    }
    SUBCASE("an expert's file of AutoEP")
    {
        const Patchable copy("autoep-w4");
        std::filesystem::remove(copy.tag() / "layer_1_expert_1_mp_rank_00_model_states.pt");
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(hasFinding(*checkpoint, "model-states-missing", "layers.1.mlp.experts.w1.1"));
        CHECK(!checkpoint->complete);
    }
}

TEST_CASE("files of other runs in the folder are recognised")
{
    const auto warned = [](const Checkpoint& checkpoint, const std::string& name) {
        return std::any_of(
            checkpoint.findings.begin(), checkpoint.findings.end(), [&](const Finding& finding) {
                return finding.code == "stale-file" && finding.severity == Severity::Warning
                    && finding.where.text() == name;
            });
    };
    struct Left {
        const char* sample;
        const char* from;
        const char* to;
    };
    for (const auto& [sample, from, to] :
        {Left{"slices-w4", "mp_rank_01_model_states.pt", "mp_rank_02_model_states.pt"},
            Left{"slices-w4", "mp_rank_00_model_states.pt", "layer_00-model_00-model_states.pt"},
            Left{"slices-w4", "mp_rank_00_model_states.pt", "layer_0_expert_0_mp_rank_00_model_states.pt"},
            Left{"pipeline-w4", "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
                "expp_rank_0_mp_rank_01_optim_states.pt"}}) {
        CAPTURE(to);
        const Patchable copy(sample);
        std::filesystem::copy_file(copy.tag() / from, copy.tag() / to);
        const CheckpointPtr checkpoint = opened(copy.run());
        CHECK(warned(*checkpoint, to));
        CHECK(checkpoint->complete);
        CHECK(checkpoint->parts.size() == 2);
    }
}

TEST_CASE("masters in the wrong place differ from the copies of layers and experts")
{
    for (const char* sample : {"experts-w4", "autoep-w4"}) {
        CAPTURE(sample); // ranks of two expert families swapped
        const Patchable copy(sample);
        const auto a = copy.tag() / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
        const auto b = copy.tag() / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
        std::filesystem::rename(a, copy.tag() / "x");
        std::filesystem::rename(b, a);
        std::filesystem::rename(copy.tag() / "x", b);
        CHECK(!opened(copy.run())->complete);
    }
    SUBCASE("two layers of the same shape swapped")
    {
        const Patchable copy("pipeline-w4");
        std::filesystem::rename(copy.tag() / "layer_01-model_states.pt", copy.tag() / "x");
        std::filesystem::rename(
            copy.tag() / "layer_03-model_states.pt", copy.tag() / "layer_01-model_states.pt");
        std::filesystem::rename(copy.tag() / "x", copy.tag() / "layer_03-model_states.pt");
        CHECK(!opened(copy.run())->complete);
    }
}

TEST_CASE("the number of an expert is taken from its name alone")
{
    const auto name = parseExpertName("a.deepspeed_experts.12.fc.weight");
    REQUIRE(name);
    CHECK(name->number == 12);
    CHECK(name->renumbered(3) == "a.deepspeed_experts.3.fc.weight");
    CHECK(parseExpertName("a.deepspeed_experts.7")->renumbered(0) == "a.deepspeed_experts.0");
    CHECK(!parseExpertName("a.experts.7.weight"));
    CHECK(!parseExpertName("a.deepspeed_experts.x.weight"));
    CHECK(!parseExpertName("a.deepspeed_experts.7x.weight"));
    CHECK(!parseExpertName("a.deepspeed_experts."));
    CHECK(!parseExpertName("a.deepspeed_experts.99999999999999999999.b"));
}
