// SPDX-License-Identifier: Apache-2.0
#include "core/plan/emit/old_forms.h"

#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/torchfile/pickle/pickle_values.h"

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

std::string writtenVersion(const Checkpoint& source)
{
    return source.deepspeedVersion.empty() ? kOldestTaken : source.deepspeedVersion;
}

} // namespace shardscope
