// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/scaler_texts.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 6> kWithoutZero{
    "cur_scale", "dynamic", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window"};

ScalerTexts fromKeys(const PickleGraph& graph, NodeId wrapper)
{
    const bool dynamic = asBool(graph, lookup(graph, wrapper, "dynamic_loss_scale")).value_or(false);
    const NodeId scale = lookup(graph, wrapper, "cur_scale");
    if (scale == kNoNode || (!dynamic && asNumber(graph, scale) == 1.0))
        return {};
    ScalerTexts out;
    for (const std::string_view key : kWithoutZero) {
        if (key == "dynamic")
            out.emplace_back(key, dynamic ? "true" : "false");
        else if (dynamic || key == "cur_scale")
            out.emplace_back(key, scalarText(graph, lookup(graph, wrapper, key)));
    }
    return out;
}

} // namespace

bool keepsScalerKeys(const Checkpoint& checkpoint)
{
    if (!isDistributed(checkpoint.kind) || !checkpoint.isReadable(checkpoint.templateOptim))
        return isStage0(checkpoint.kind);
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    return lookup(graph, checkpoint.optimWrapper, "loss_scaler") == kNoNode;
}

ScalerTexts scalerTexts(const Checkpoint& checkpoint)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    if (keepsScalerKeys(checkpoint))
        return fromKeys(graph, checkpoint.optimWrapper);
    const NodeId scaler = lookup(graph, checkpoint.optimWrapper, "loss_scaler");
    const auto object = scaler == kNoNode ? std::nullopt : asObject(graph, scaler);
    if (!object || object->attributes == kNoNode)
        return {};
    if (object->className == "LossScaler"
        && asNumber(graph, lookup(graph, object->attributes, "cur_scale")) == 1.0)
        return {};
    ScalerTexts out;
    const auto items = mappingItems(graph, object->attributes);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto key = asString(graph, items[i]))
            out.emplace_back(*key, scalarText(graph, items[i + 1]));
    }
    for (const ScalerAttribute& attribute :
        lackingScalerAttributes(graph, object->className, object->attributes)) {
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
