// SPDX-License-Identifier: Apache-2.0
// AutoEP: tensors of several experts, shown one by one.
#include "core/checkpoint/model/fused_experts.h"
#include "core/torchfile/pickle/pickle_graph.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>

using namespace shardscope;

namespace {

const io::Path kSample = io::Path(sourceFolder()) / "tests/data/samples/autoep-w4";

/// An entry of `ds_autoep_layers`, as long as nothing is changed in it.
struct Entry {
    const char* prefix = "m.experts";
    int64_t experts = 4;
    int64_t local = 2;
    int64_t ranks = 2;
    const char* format = "per_expert_files";
    std::vector<std::vector<int64_t>> placement{{0, 1}, {2, 3}}; ///< empty: none recorded
    int64_t placementVersion = 1;
};

NodeId nodeOf(PickleBuilder& b, const Entry& entry)
{
    const NodeId out = b.dict();
    const auto set
        = [&](NodeId dict, const char* key, NodeId value) { b.setItem(dict, b.string(key), value); };
    set(out, "expert_key_prefix", b.string(entry.prefix));
    set(out, "num_experts", b.integer(entry.experts));
    set(out, "num_local_experts", b.integer(entry.local));
    set(out, "ep_size", b.integer(entry.ranks));
    set(out, "checkpoint_format", b.string(entry.format));
    if (entry.placement.empty())
        return out;
    std::vector<NodeId> ranks;
    for (const auto& numbers : entry.placement) {
        std::vector<NodeId> experts;
        for (const int64_t number : numbers)
            experts.push_back(b.integer(number));
        const NodeId rank = b.dict();
        set(rank, "rank", b.integer(static_cast<int64_t>(ranks.size())));
        set(rank, "experts", b.list(experts));
        ranks.push_back(rank);
    }
    const NodeId placement = b.dict();
    set(placement, "version", b.integer(entry.placementVersion));
    set(placement, "ranks", b.list(ranks));
    set(out, "expert_placement", placement);
    return out;
}

/// `folding`, as long as nothing is changed in it.
struct Folding {
    int64_t slices = 2;
    int64_t slice = 1;
    int64_t ranks = 2;
    int64_t version = 1;
    int64_t expertSlices = 1;
};

Result<FusedExperts> read(std::initializer_list<Entry> entries, const Folding* folding = nullptr)
{
    PickleBuilder builder;
    std::vector<NodeId> layers;
    for (const Entry& entry : entries)
        layers.push_back(nodeOf(builder, entry));
    const NodeId root = builder.dict();
    builder.setItem(root, builder.string("ds_autoep_layers"), builder.list(layers));
    if (folding != nullptr) {
        const NodeId out = builder.dict();
        const std::pair<const char*, int64_t> facts[]
            = {{"version", folding->version}, {"tp_size", folding->slices}, {"tp_rank", folding->slice},
                {"ep_size", folding->ranks}, {"etp_size", folding->expertSlices}};
        for (const auto& [key, value] : facts)
            builder.setItem(out, builder.string(key), builder.integer(value));
        builder.setItem(root, builder.string("folding"), out);
    }
    const PickleGraph graph = builder.finish(root);
    return FusedExperts::read(graph, graph.root());
}

ErrorCode errorOf(const Entry& entry)
{
    const auto fused = read({entry});
    REQUIRE(!fused.has_value());
    return fused.error().code;
}

} // namespace

TEST_CASE("AutoEP's experts are single parameters of the families that hold them")
{
    const CheckpointPtr checkpoint = test::opened(kSample);
    CHECK(checkpoint->kind == CheckpointKind::Zero2);
    CHECK(checkpoint->parallel.dp == 4);
    CHECK(checkpoint->parallel.ep == 2);
    CHECK(!checkpoint->findParam("layers.0.mlp.experts.w1"));
    const auto third = checkpoint->findParam("layers.1.mlp.experts.w2.3");
    REQUIRE(third);
    CHECK(checkpoint->params[index(*third)].shape == Shape{12, 10});
    const FlatUnit& unit = *checkpoint->unitOf(*third);
    CHECK(unit.partition.ranks() == 2);
    CHECK(unit.firstRank == 1);
    CHECK(unit.rankStride == 2);
    const WholeTensor* whole = checkpoint->wholeOf(*third);
    REQUIRE(whole != nullptr);
    CHECK(checkpoint->file(whole->run.file).name == "layer_1_expert_3_mp_rank_00_model_states.pt");
    // Both experts of a rank, tensor after tensor: w1.2, w1.3, w2.2, …
    REQUIRE(unit.params.size() == 12);
    const auto nameAt = [&](size_t at) { return checkpoint->params[index(unit.params[at])].name; };
    CHECK(nameAt(0) == "layers.0.mlp.experts.w1.2");
    CHECK(nameAt(1) == "layers.0.mlp.experts.w1.3");
    CHECK(nameAt(2) == "layers.0.mlp.experts.w2.2");
    CHECK(FusedExperts::of(*checkpoint).optimizerEnds(*checkpoint, unit)
        == std::vector<uint32_t>{1, 3, 5, 7, 9, 11});
    const FlatUnit& dense = *checkpoint->unitOf(*checkpoint->findParam("head.weight"));
    CHECK(dense.partition.ranks() == 4);
    CHECK(FusedExperts::of(*checkpoint).optimizerEnds(*checkpoint, dense).size() == dense.params.size());
    CHECK(test::opened(kSample, {}, OpenDepth::Structure)->findParam("layers.1.mlp.experts.w2.3"));
}

TEST_CASE("only the layers that the model file lists are fused")
{
    const auto fused = read({Entry{}, Entry{.prefix = "n.experts", .placement = {}}});
    REQUIRE(fused.has_value());
    REQUIRE(fused->layerOf("n.experts.w3") != nullptr);
    CHECK(fused->layerOf("n.experts.w3")->localExperts == 2);
    CHECK(fused->layerOf("m.experts.w4") == nullptr);
    CHECK(fused->layerOf("other.experts.w1") == nullptr);
    CHECK(fused->fusedNameOf("m.experts.w1.3") == "m.experts.w1");
    for (const char* name : {"m.experts.w1", "m.experts.w1.", "m.experts.w1.x", "m.experts.w1.3.bias",
             "other.experts.w1.3", "m.experts.w1.4", "m.experts.w1.03", "w1.3", ""})
        CHECK(fused->fusedNameOf(name).empty());
    const auto none = read({});
    REQUIRE(none.has_value());
    CHECK(none->isEmpty());
    CHECK(none->fusedNameOf("m.experts.w1.0").empty());
}

TEST_CASE("experts that are placed in another way are refused, malformed lists are damage")
{
    CHECK(errorOf({.format = "zero3_partitioned"}) == ErrorCode::Unsupported);
    CHECK(errorOf({.experts = 5}) == ErrorCode::Unsupported);
    CHECK(errorOf({.experts = 3, .placement = {{0, 1}, {2}}}) == ErrorCode::Unsupported);
    CHECK(errorOf({.placement = {{0, 2}, {1, 3}}}) == ErrorCode::Unsupported);
    CHECK(errorOf({.placement = {{0, 1}}}) == ErrorCode::Unsupported);
    CHECK(errorOf({.placementVersion = 2}) == ErrorCode::Unsupported);
    CHECK(errorOf({.local = 0}) == ErrorCode::Unsupported);
    CHECK(errorOf({.experts = int64_t{1} << 40, .local = int64_t{1} << 39, .placement = {}})
        == ErrorCode::Unsupported);
    CHECK(errorOf({.experts = 0}) == ErrorCode::Damaged);
    CHECK(errorOf({.local = -2}) == ErrorCode::Damaged);
    const auto twice = read({Entry{}, Entry{}});
    REQUIRE(!twice.has_value());
    CHECK(twice.error().code == ErrorCode::Damaged);
    const auto degrees
        = read({Entry{}, Entry{.prefix = "n.experts", .local = 1, .ranks = 4, .placement = {}}});
    REQUIRE(!degrees.has_value());
    CHECK(degrees.error().code == ErrorCode::Damaged);
}

TEST_CASE("where experts fold over tensor slices is read, or why not")
{
    const Folding second;
    const auto fused = read({Entry{}}, &second);
    REQUIRE(fused.has_value());
    CHECK(fused->slices() == 2);
    CHECK(fused->families() == 1);
    CHECK(fused->rankOf(0) == 1);
    CHECK(fused->stageRankOf(3) == 7);
    const auto errorOfFold = [](const Folding& folding) {
        const auto odd = read({Entry{}}, &folding);
        REQUIRE(!odd.has_value());
        return odd.error().code;
    };
    CHECK(errorOfFold({.version = 2}) == ErrorCode::Unsupported);
    CHECK(errorOfFold({.expertSlices = 2}) == ErrorCode::Unsupported);
    CHECK(errorOfFold({.slices = 4}) == ErrorCode::Unsupported);
    CHECK(errorOfFold({.slices = 0}) == ErrorCode::Damaged);
    CHECK(errorOfFold({.slice = 2}) == ErrorCode::Damaged);
    CHECK(errorOfFold({.slice = -1}) == ErrorCode::Damaged);
    CHECK(errorOfFold({.ranks = 4}) == ErrorCode::Damaged);
}
