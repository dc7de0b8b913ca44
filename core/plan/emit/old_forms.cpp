// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/old_forms.h"

#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/compare/digest/scaler_texts.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr const char* kOldestTaken = "0.3.17";

bool hasFilledPlaceholders(const Checkpoint& source, const ModelStates& model)
{
    const PickleGraph& graph = *model.graph;
    const auto items = mappingItems(graph, model.module);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto param = name ? source.findParam(*name) : std::nullopt;
        const auto tensor = param && source.params[index(*param)].role == ParamRole::Trainable
            ? std::optional(asTensor(graph, items[i + 1]))
            : std::nullopt;
        if (tensor && *tensor && (*tensor)->elements() != 0)
            return true;
    }
    return false;
}

} // namespace

bool hasOldForm(const Checkpoint& source)
{
    if (!source.isReadable(source.templateModel))
        return false;
    const ModelStates model = modelStates(source);
    const bool lacksShapes = model.graph->kind(model.paramShapes) != NodeKind::List;
    if (partitionsParameters(source.kind))
        return lacksShapes || hasFilledPlaceholders(source, model);
    if (!partitionsGroups(source.kind) || !source.isReadable(source.templateOptim))
        return false;
    const OptimStates optim = optimStates(source);
    return lacksShapes || optim.sliceMappings == kNoNode || optim.groupPaddings == kNoNode;
}

NodeId renewedScaler(ArchiveComposer& composer, NodeId scaler)
{
    const PickleGraph& graph = composer.graph();
    const auto object = scaler == kNoNode ? std::nullopt : asObject(graph, scaler);
    if (!object || object->attributes == kNoNode)
        return kNoNode;
    const auto lacking = lackingScalerAttributes(graph, object->className, object->attributes);
    if (lacking.empty())
        return kNoNode;
    PickleBuilder& builder = composer.builder();
    const NodeId attributes = composer.importChanged(object->attributes, ArchiveComposer::Changes());
    for (const ScalerAttribute& attribute : lacking)
        builder.setItem(attributes, builder.string(attribute.name), attribute.make(builder));
    const NodeId out = builder.newObj(
        builder.global("deepspeed.runtime.fp16.loss_scaler", object->className), builder.tuple({}));
    builder.setState(out, attributes);
    return out;
}

std::string writtenVersion(const Checkpoint& source)
{
    return source.deepspeedVersion.empty() ? kOldestTaken : source.deepspeedVersion;
}

} // namespace shardscope
