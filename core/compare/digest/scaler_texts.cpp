// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/scaler_texts.h"

#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 6> kWithoutZero{
    "cur_scale", "dynamic", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window"};

ScalerTexts fromKeys(const OptimStates& optim)
{
    const PickleGraph& graph = *optim.graph;
    const TorchFile& file = *optim.file->content;
    const bool dynamic = asBool(graph, optim.dynamicLossScale).value_or(false);
    const LossScaler scaler = lossScaler(optim);
    if (scaler.scale == kNoNode || (!dynamic && asNumber(graph, scaler.scale) == 1.0))
        return {};
    ScalerTexts out{{"cur_scale", scalarText(file, scaler.scale)}, {"dynamic", dynamic ? "true" : "false"}};
    if (!dynamic)
        return out;
    for (const auto& [key, value] : dynamicValues(scaler))
        out.emplace_back(key, scalarText(file, value));
    return out;
}

} // namespace

bool keepsScalerKeys(const Checkpoint& checkpoint)
{
    if (!isDistributed(checkpoint.kind) || !checkpoint.isReadable(checkpoint.templateOptim))
        return isStage0(checkpoint.kind);
    return optimStates(checkpoint).lossScaler == kNoNode;
}

ScalerTexts scalerTexts(const Checkpoint& checkpoint)
{
    const OptimStates optim = optimStates(checkpoint);
    const PickleGraph& graph = *optim.graph;
    if (keepsScalerKeys(checkpoint))
        return fromKeys(optim);
    const LossScaler scaler = lossScaler(optim);
    if (scaler.className.empty() || scaler.values == kNoNode)
        return {};
    if (scaler.className == "LossScaler" && asNumber(graph, scaler.scale) == 1.0)
        return {};
    ScalerTexts out;
    const auto items = mappingItems(graph, scaler.values);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto key = asString(graph, items[i]))
            out.emplace_back(*key, scalarText(*optim.file->content, items[i + 1]));
    }
    for (const ScalerAttribute& attribute : lackingScalerAttributes(graph, scaler.className, scaler.values)) {
        PickleBuilder builder;
        const NodeId root = attribute.make(builder);
        const PickleGraph made = builder.finish(root);
        out.emplace_back(attribute.name, scalarText(made, made.root()));
    }
    return out;
}

std::vector<ScalerAttribute> lackingScalerAttributes(
    const PickleGraph& graph, std::string_view className, NodeId attributes)
{
    static constexpr auto kTrue = [](PickleBuilder& builder) { return builder.boolean(true); };
    static constexpr auto kFalse = [](PickleBuilder& builder) { return builder.boolean(false); };
    static constexpr auto kHalf = [](PickleBuilder& builder) { return builder.global("torch", "float16"); };
    std::vector<ScalerAttribute> out;
    if (className == "DynamicLossScaler")
        out = {{"raise_error_at_min_scale", kTrue}, {"dynamic", kTrue}, {"dtype", kHalf}};
    else if (className == "LossScaler")
        out = {{"dynamic", kFalse}};
    std::erase_if(out, [&](const ScalerAttribute& attribute) {
        return lookup(graph, attributes, attribute.name) != kNoNode;
    });
    return out;
}

ScalerTexts scalerTextsWithoutZero(ScalerTexts texts)
{
    std::erase_if(texts, [](const auto& text) {
        return std::find(kWithoutZero.begin(), kWithoutZero.end(), text.first) == kWithoutZero.end();
    });
    return texts;
}

} // namespace shardscope
