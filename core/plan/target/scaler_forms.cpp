// SPDX-License-Identifier: Apache-2.0
#include "core/plan/target/scaler_forms.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/plan/target/reshard_options.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <array>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 5> kDynamicKeys{
    "cur_scale", "cur_iter", "last_overflow_iter", "scale_factor", "scale_window"};

const PickleGraph& optimGraph(const Checkpoint& source)
{
    return source.file(source.templateOptim).content->pickle();
}

int64_t configuredCount(const Checkpoint& source, std::string_view key, int64_t preset)
{
    const NodeId node = configNode(source, {"fp16", key});
    return node == kNoNode
        ? preset
        : asInteger(source.file(source.templateModel).content->pickle(), node).value_or(preset);
}

bool isDynamic(const Checkpoint& source)
{
    return asBool(optimGraph(source), lookup(optimGraph(source), source.optimWrapper, "dynamic_loss_scale"))
        .value_or(false);
}

/// Name and value of the attributes that a source without ZeRO does not keep, in the order in which
/// DynamicLossScaler sets them. Presets: runtime/precision_config.py.
template <class Number, class Flag, class Half>
void forEachConfigured(const Checkpoint& source, Number number, Flag flag, Half half)
{
    const int64_t hysteresis = configuredCount(source, "hysteresis", 2);
    const NodeId consecutive = configNode(source, {"fp16", "consecutive_hysteresis"});
    number("min_scale", configuredCount(source, "min_loss_scale", 1));
    number("delayed_shift", hysteresis);
    number("cur_hysteresis", hysteresis);
    flag("consecutive_hysteresis",
        consecutive != kNoNode
            && asBool(source.file(source.templateModel).content->pickle(), consecutive).value_or(false));
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

} // namespace

NodeId scalerObject(ArchiveComposer& composer, const Checkpoint& source)
{
    PickleBuilder& builder = composer.builder();
    const PickleGraph& graph = composer.graph();
    const NodeId attributes = builder.dict();
    const auto set = [&](std::string_view key, NodeId value) {
        builder.setItem(attributes, builder.string(key), value);
    };
    const auto carry = [&](std::string_view key) {
        const NodeId value = lookup(graph, source.optimWrapper, key);
        set(key, value == kNoNode ? builder.none() : composer.import(value));
    };
    const bool dynamic = isDynamic(source);
    const NodeId scale = lookup(graph, source.optimWrapper, "cur_scale");
    set("cur_scale", scale == kNoNode ? builder.real(1.0) : composer.import(scale));
    set("dynamic", builder.boolean(dynamic));
    if (!dynamic)
        return newScaler(builder, "LossScaler", attributes);
    for (const std::string_view key : kDynamicKeys) {
        if (key != "cur_scale")
            carry(key);
    }
    forEachConfigured(
        source, [&](std::string_view key, int64_t value) { set(key, builder.integer(value)); },
        [&](std::string_view key, bool value) { set(key, builder.boolean(value)); },
        [&](std::string_view key) { set(key, builder.global("torch", "float16")); });
    return newScaler(builder, "DynamicLossScaler", attributes);
}

std::vector<std::pair<std::string_view, NodeId>> scalerKeys(
    PickleBuilder& builder, const Checkpoint& source, const std::function<NodeId(NodeId)>& import)
{
    const PickleGraph& graph = optimGraph(source);
    NodeId from = source.optimWrapper;
    bool dynamic = isDynamic(source);
    if (!keepsScalerKeys(source)) {
        const auto object = asObject(graph, lookup(graph, source.optimWrapper, "loss_scaler"));
        from = object ? object->attributes : kNoNode;
        dynamic = object && object->className == "DynamicLossScaler";
    }
    const auto value = [&](std::string_view key, NodeId otherwise) {
        const NodeId node = lookup(graph, from, key);
        return node == kNoNode ? otherwise : import(node);
    };
    // An iteration is counted in every step, skipped ones too.
    const NodeId steps = builder.integer(source.steps.globalSteps.value_or(0));
    std::vector<std::pair<std::string_view, NodeId>> out{{"dynamic_loss_scale", builder.boolean(dynamic)},
        {"cur_scale", value("cur_scale", builder.real(1.0))}, {"cur_iter", value("cur_iter", steps)}};
    for (size_t i = 2; dynamic && i < kDynamicKeys.size(); ++i)
        out.emplace_back(kDynamicKeys[i], value(kDynamicKeys[i], builder.none()));
    return out;
}

ScalerTexts targetScalerTexts(const Checkpoint& source, CheckpointKind target)
{
    ScalerTexts texts = scalerTexts(source);
    if (isStage0(target))
        return scalerTextsWithoutZero(std::move(texts));
    if (!keepsScalerKeys(source) || !isDynamic(source))
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

bool tellsScaling(const Checkpoint& source)
{
    return !isDynamic(source) || configNode(source, {"fp16"}) != kNoNode;
}

} // namespace shardscope
