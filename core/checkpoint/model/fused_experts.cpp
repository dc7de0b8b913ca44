// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/fused_experts.h"

#include "core/base/text.h"
#include "core/base/text_cursor.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace shardscope {

namespace {

constexpr std::string_view kLayers = "ds_autoep_layers";
constexpr std::array<std::string_view, 3> kTensors{"w1", "w2", "w3"}; ///< of an expert, in every model
constexpr std::string_view kOnRank = ":ep";
constexpr int64_t kMaxExperts = 1'000'000; ///< in all layers: each has three parameters

tl::unexpected<Error> damaged(std::string what)
{
    return fail(ErrorCode::Damaged, "`" + std::string(kLayers) + "` of the model file " + std::move(what), {},
        "stock DeepSpeed refuses such a list, too");
}

tl::unexpected<Error> unsupported(std::string_view prefix, const std::string& what)
{
    return fail(ErrorCode::Unsupported, "AutoEP's experts of `" + toValidUtf8(prefix) + "` " + what);
}

/// Since 0.19.8 `expert_placement` records which rank has which expert. Before, all ranks have the same
/// number, in order.
bool isEvenPlacement(const PickleGraph& graph, NodeId placement, int64_t ranks, int64_t localExperts)
{
    if (placement == kNoNode)
        return true;
    const auto entries = sequenceItems(graph, lookup(graph, placement, "ranks"));
    if (asInteger(graph, lookup(graph, placement, "version")) != 1
        || entries.size() != static_cast<uint64_t>(ranks))
        return false;
    int64_t next = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        const auto experts = sequenceItems(graph, lookup(graph, entries[i], "experts"));
        if (asInteger(graph, lookup(graph, entries[i], "rank")) != static_cast<int64_t>(i)
            || experts.size() != static_cast<uint64_t>(localExperts))
            return false;
        for (const NodeId expert : experts) {
            if (asInteger(graph, expert) != next++)
                return false;
        }
    }
    return true;
}

} // namespace

Result<FusedExperts> FusedExperts::read(const PickleGraph& graph, NodeId modelRoot, bool zero3)
{
    FusedExperts out;
    int64_t experts = 0;
    for (const NodeId entry : sequenceItems(graph, lookup(graph, modelRoot, kLayers))) {
        const auto prefix = asString(graph, lookup(graph, entry, "expert_key_prefix"));
        const auto count = asInteger(graph, lookup(graph, entry, "num_experts"));
        const auto local = asInteger(graph, lookup(graph, entry, "num_local_experts"));
        const auto ranks = asInteger(graph, lookup(graph, entry, "ep_size"));
        if (!prefix || !count || !local || !ranks || *count < 1 || *local < 0 || *ranks < 1)
            return damaged("has an entry without names and numbers of experts");
        const auto format = asString(graph, lookup(graph, entry, "checkpoint_format"));
        if (format.value_or("per_expert_files") != (zero3 ? "zero3_partitioned" : "per_expert_files"))
            return unsupported(*prefix,
                "are kept as `" + toValidUtf8(format.value_or("per_expert_files"))
                    + (zero3 ? "`, not partitioned by ZeRO-3" : "`, not in a file each"));
        if (zero3 && asInteger(graph, lookup(graph, entry, "checkpoint_format_version")) != 1)
            return unsupported(*prefix, "have a form that is newer than this build");
        if (*count > kMaxExperts || (experts += *count) > kMaxExperts)
            return unsupported(*prefix, "are more than this build supports");
        if (*local == 0 || *count / *local != *ranks || *count % *local != 0
            || !isEvenPlacement(graph, lookup(graph, entry, "expert_placement"), *ranks, *local))
            return unsupported(*prefix, "are not distributed evenly over the ranks");
        for (const std::string_view tensor : kTensors) {
            const bool isNew
                = out.m_layers
                      .emplace(std::string(*prefix) + "." + std::string(tensor),
                          FusedLayer{static_cast<uint32_t>(*local), static_cast<uint32_t>(*ranks)})
                      .second;
            if (!isNew)
                return damaged("names `" + toValidUtf8(*prefix) + "` twice");
        }
    }
    const bool alike = std::all_of(out.m_layers.begin(), out.m_layers.end(),
        [&](const auto& layer) { return layer.second.ranks == out.m_layers.begin()->second.ranks; });
    if (!alike)
        return damaged("has layers at different expert-parallel degrees");
    const NodeId folding = lookup(graph, modelRoot, kFolding);
    if (folding != kNoNode && graph.kind(folding) != NodeKind::None)
        SHARDSCOPE_CHECK(out.readFolding(graph, folding));
    return out;
}

Status FusedExperts::readFolding(const PickleGraph& graph, NodeId folding)
{
    const auto number = [&](std::string_view key) { return asInteger(graph, lookup(graph, folding, key)); };
    const auto slices = number("tp_size");
    const auto slice = number("tp_rank");
    if (number("version") != 1 || number("etp_size") != 1)
        return fail(ErrorCode::Unsupported,
            "AutoEP's experts are folded with tensor slices in a form that this build does not know");
    if (!slices || !slice || *slices < 1 || *slices > kMaxExperts || *slice < 0 || *slice >= *slices
        || number("ep_size") != int64_t{ranks()})
        return fail(ErrorCode::Damaged,
            "`folding` and `ds_autoep_layers` of the model file disagree about tensor slices and "
            "expert-parallel ranks",
            {}, "stock DeepSpeed refuses it, too");
    if (ranks() % *slices != 0)
        return fail(ErrorCode::Unsupported,
            "AutoEP's " + std::to_string(ranks()) + " expert-parallel ranks are folded with "
                + std::to_string(*slices)
                + " tensor slices, and several of them share the partition of one tensor of experts");
    m_slices = static_cast<uint32_t>(*slices);
    m_slice = static_cast<uint32_t>(*slice);
    return {};
}

FusedExperts FusedExperts::of(const Checkpoint& checkpoint)
{
    const bool mayHave = hasRankFiles(checkpoint.kind);
    if (!mayHave || checkpoint.templateModel == kNoFile || !checkpoint.file(checkpoint.templateModel).content)
        return {};
    const PickleGraph& graph = checkpoint.file(checkpoint.templateModel).content->pickle();
    return read(graph, graph.root(), partitionsParameters(checkpoint.kind)).value_or(FusedExperts());
}

std::string FusedExperts::foldText() const
{
    if (m_slices == 1)
        return {};
    return "`folding`: " + std::to_string(ranks()) + " expert-parallel ranks go over the "
        + std::to_string(m_slices) + " tensor slices first, then over data-parallel ranks";
}

std::string FusedExperts::nameOnRank(std::string_view fused, uint32_t rank)
{
    return std::string(fused) + std::string(kOnRank) + std::to_string(rank);
}

std::string_view FusedExperts::withoutRank(std::string_view name) const
{
    const size_t colon = name.rfind(kOnRank);
    const std::string_view fused = name.substr(0, colon);
    return colon != std::string_view::npos && layerOf(fused) != nullptr ? fused : name;
}

const FusedLayer* FusedExperts::layerOf(std::string_view fused) const
{
    const auto found = m_layers.find(fused);
    return found == m_layers.end() ? nullptr : &found->second;
}

std::string_view FusedExperts::fusedNameOf(std::string_view name) const
{
    const size_t dot = name.rfind('.');
    if (m_layers.empty() || dot == std::string_view::npos)
        return {};
    TextCursor number(name.substr(dot + 1));
    uint32_t expert = 0;
    const FusedLayer* layer = layerOf(name.substr(0, dot));
    const bool isExpert = layer != nullptr && number.takeNumber(expert) && number.atEnd()
        && expert / layer->localExperts < layer->ranks && name.substr(dot + 1) == std::to_string(expert);
    return isExpert ? name.substr(0, dot) : std::string_view();
}

std::vector<uint32_t> FusedExperts::optimizerEnds(const Checkpoint& checkpoint, const FlatUnit& unit) const
{
    std::vector<uint32_t> out(unit.params.size());
    std::iota(out.begin(), out.end(), 0u);
    if (m_layers.empty())
        return out;
    std::vector<std::string_view> fused;
    for (const ParamId param : unit.params)
        fused.push_back(fusedNameOf(checkpoint.params[index(param)].name));
    std::erase_if(out, [&](uint32_t at) {
        return !fused[at].empty() && at + 1 < fused.size() && fused[at + 1] == fused[at];
    });
    return out;
}

} // namespace shardscope
