// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/round_robin.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/param_order.h"
#include "core/partition/round_robin.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Which order of the parameters is the model's own. Optimizers usually get the parameters in that order.
enum class ListOrder { Unclear, AsListed, Reordered };

/// The position of each parameter in `module`. kNowhere for parameters that are not in it.
constexpr uint32_t kNowhere = 0xFFFFFFFFu;
std::vector<uint32_t> modulePlaces(const Reading& reading)
{
    std::vector<uint32_t> places(reading.out.params.size(), kNowhere);
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const auto items = mappingItems(graph, lookup(graph, reading.modelRoot, "module"));
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto id = name ? reading.out.findParam(*name) : std::nullopt;
        if (id)
            places[index(*id)] = static_cast<uint32_t>(i / 2);
    }
    return places;
}

ListOrder listOrderOf(const Reading& reading)
{
    const std::vector<uint32_t> inModule = modulePlaces(reading);
    size_t asListed = 0;
    size_t reordered = 0;
    for (const FlatUnit& unit : reading.out.units) {
        const auto count = static_cast<uint32_t>(unit.params.size());
        const std::vector<uint32_t> order = roundRobinOrder(count, unit.partition.ranks());
        std::vector<uint32_t> listed(count);
        std::vector<uint32_t> before(count);
        for (uint32_t i = 0; i < count; ++i) {
            listed[i] = inModule[index(unit.params[i])];
            before[order[i]] = listed[i];
        }
        if (listed == before)
            continue;
        const bool listedIsSorted = std::is_sorted(listed.begin(), listed.end());
        const bool beforeIsSorted = std::is_sorted(before.begin(), before.end());
        if (listedIsSorted == beforeIsSorted)
            return ListOrder::Unclear;
        ++(listedIsSorted ? asListed : reordered);
    }
    if (asListed > 0 && reordered == 0)
        return ListOrder::AsListed;
    return reordered > 0 && asListed == 0 ? ListOrder::Reordered : ListOrder::Unclear;
}

} // namespace

void decideRoundRobin(Reading& reading, bool mappingsShowIt)
{
    Checkpoint& out = reading.out;
    if (hasBf16Optimizer(out.kind)) // engine.py passes the option only to stages 1 and 2
        return;
    const PickleGraph& graph = reading.content(out.templateModel)->pickle();
    const NodeId option = configValue(reading, {"zero_optimization", "round_robin_gradients"});
    const bool configured = option != kNoNode && asBool(graph, option).value_or(false);
    // Before 0.18.6 this is a path if the configuration was given as one.
    const bool configKnown = configValue(reading, {"zero_optimization"}) != kNoNode;
    const bool matters = roundRobinMatters(out);
    const bool askNames = matters && !mappingsShowIt && (configured || !configKnown);
    const ListOrder listOrder = askNames ? listOrderOf(reading) : ListOrder::Unclear;
    const std::string where = out.file(out.templateModel).name;
    // The saving engine ran with this configuration, so it is used. But a plan must not rely on it unless
    // asked to.
    const bool contradicted = configured && listOrder == ListOrder::AsListed;
    if (contradicted)
        reading.add(code::kParamOrder, Severity::Error,
            "ds_config has round_robin_gradients on, but the parameters are in the order without it", where,
            {"`param_shapes` lists them in the order of `module`",
                "a loader with round_robin_gradients on would give parameters the values of others"});
    out.roundRobin = configured || mappingsShowIt || listOrder == ListOrder::Reordered;
    if (mappingsShowIt && configKnown && !configured)
        reading.add(code::kParamOrder, Severity::Warning,
            "ds_config does not have round_robin_gradients on, but the parameters are in its order", where,
            {"the places that `param_slice_mappings` records are those before it",
                "the resumed run must have it on"});
    if (out.roundRobin && matters && !contradicted)
        out.evidence.push_back("parameters are in the order of round_robin_gradients for "
            + std::to_string(reading.worldSize) + " ranks");
}

} // namespace shardscope
