// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/scaler_forms.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/plan/target/reshard_options.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope {

namespace {

bool isDynamic(const OptimStates& optim)
{
    return asBool(*optim.graph, optim.dynamicLossScale).value_or(false);
}

/// Name and value of the attributes that a source without ZeRO does not keep, in the order in which
/// DynamicLossScaler sets them. Presets: runtime/precision_config.py.
template <class Number, class Flag, class Half>
void forEachConfigured(const Checkpoint& source, Number number, Flag flag, Half half)
{
    const ModelStates model = readableModel(source);
    const int64_t hysteresis = model.configInteger({"fp16", "hysteresis"}).value_or(2);
    number("min_scale", model.configInteger({"fp16", "min_loss_scale"}).value_or(1));
    number("delayed_shift", hysteresis);
    number("cur_hysteresis", hysteresis);
    flag("consecutive_hysteresis", model.configFlag({"fp16", "consecutive_hysteresis"}));
    flag("raise_error_at_min_scale", true);
    half("dtype");
}

NodeId newScaler(PickleBuilder& builder, std::string_view className, NodeId attributes)
{
    const NodeId scaler
        = builder.newObj(builder.global("deepspeed.runtime.fp16.loss_scaler", className), builder.tuple({}));
    builder.setState(scaler, attributes);
    return scaler;
}

/// With the attributes that today's update_scale() asks for at the first overflow, where the object lacks
/// them (before 0.8.3).
NodeId renewedScaler(ArchiveComposer& composer, NodeId scaler)
{
    const PickleGraph& graph = composer.graph();
    const auto object = asObject(graph, scaler);
    if (!object || object->attributes == kNoNode)
        return composer.import(scaler);
    const auto lacking = lackingScalerAttributes(graph, object->className, object->attributes);
    if (lacking.empty())
        return composer.import(scaler);
    PickleBuilder& builder = composer.builder();
    const NodeId attributes = composer.importChanged(object->attributes, ArchiveComposer::Changes());
    for (const ScalerAttribute& attribute : lacking)
        builder.setItem(attributes, builder.string(attribute.name), attribute.make(builder));
    return newScaler(builder, object->className, attributes);
}

/// Of what a source without ZeRO keeps as keys; of one that keeps nothing (BF16_Optimizer) what an engine
/// without loss scaling writes (runtime/fp16/loss_scaler.py, LossScaler).
NodeId madeScaler(ArchiveComposer& composer, const Checkpoint& source)
{
    PickleBuilder& builder = composer.builder();
    const OptimStates optim = optimStates(composer.graph(), source.optimWrapper);
    const LossScaler scaler = lossScaler(optim);
    const NodeId attributes = builder.dict();
    const auto set = [&](std::string_view key, NodeId value) {
        builder.setItem(attributes, builder.string(key), value);
    };
    const bool dynamic = isDynamic(optim);
    set("cur_scale", scaler.scale == kNoNode ? builder.real(1.0) : composer.import(scaler.scale));
    set("dynamic", builder.boolean(dynamic));
    if (!dynamic)
        return newScaler(builder, "LossScaler", attributes);
    for (const auto& [key, value] : dynamicValues(scaler))
        set(key, value == kNoNode ? builder.none() : composer.import(value));
    forEachConfigured(
        source, [&](std::string_view key, int64_t value) { set(key, builder.integer(value)); },
        [&](std::string_view key, bool value) { set(key, builder.boolean(value)); },
        [&](std::string_view key) { set(key, builder.global("torch", "float16")); });
    return newScaler(builder, "DynamicLossScaler", attributes);
}

} // namespace

NodeId scalerObject(ArchiveComposer& composer, const Checkpoint& source)
{
    const NodeId old = optimStates(composer.graph(), source.optimWrapper).lossScaler;
    return old == kNoNode ? madeScaler(composer, source) : renewedScaler(composer, old);
}

std::vector<std::pair<std::string_view, NodeId>> scalerKeys(
    PickleBuilder& builder, const Checkpoint& source, const std::function<NodeId(NodeId)>& import)
{
    const OptimStates optim = optimStates(source);
    const LossScaler scaler = lossScaler(optim);
    const bool dynamic = keepsScalerKeys(source) ? isDynamic(optim) : scaler.className == "DynamicLossScaler";
    const auto carried
        = [&](NodeId node, NodeId otherwise) { return node == kNoNode ? otherwise : import(node); };
    // An iteration is counted in every step, skipped ones too.
    const NodeId steps = builder.integer(source.steps.globalSteps.value_or(0));
    std::vector<std::pair<std::string_view, NodeId>> out{{"dynamic_loss_scale", builder.boolean(dynamic)},
        {"cur_scale", carried(scaler.scale, builder.real(1.0))}};
    for (const auto& [key, value] : dynamicValues(scaler)) {
        if (dynamic || key == "cur_iter")
            out.emplace_back(key, carried(value, key == "cur_iter" ? steps : builder.none()));
    }
    return out;
}

ScalerTexts targetScalerTexts(const Checkpoint& source, CheckpointKind target)
{
    ScalerTexts texts = scalerTexts(source);
    if (isStage0(target))
        return scalerTextsWithoutZero(std::move(texts));
    if (!keepsScalerKeys(source) || !isDynamic(optimStates(source)))
        return texts;
    const auto text = [](auto make) {
        PickleBuilder builder;
        const NodeId root = make(builder);
        const PickleGraph graph = builder.finish(root);
        return scalarText(graph, graph.root());
    };
    forEachConfigured(
        source,
        [&](std::string_view key, int64_t value) {
            texts.emplace_back(key, text([&](PickleBuilder& builder) { return builder.integer(value); }));
        },
        [&](std::string_view key, bool value) {
            texts.emplace_back(key, text([&](PickleBuilder& builder) { return builder.boolean(value); }));
        },
        [&](std::string_view key) {
            texts.emplace_back(
                key, text([](PickleBuilder& builder) { return builder.global("torch", "float16"); }));
        });
    return texts;
}

bool recordsScaling(const Checkpoint& source)
{
    return !isDynamic(optimStates(source)) || readableModel(source).configValue({"fp16"}) != kNoNode;
}

} // namespace shardscope
