// SPDX-License-Identifier: Apache-2.0
#include "core/plan/model/model_types.h"

#include "core/checkpoint/model/model_states.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <functional>

namespace shardscope {

namespace {

void forEachOfModule(
    const Checkpoint& source, const std::function<void(std::string_view name, NodeId value)>& visit)
{
    if (!source.isReadable(source.templateModel) || !source.file(source.templateModel).content)
        return;
    const ModelStates model = modelStates(source);
    const PickleGraph& graph = *model.graph;
    const auto items = mappingItems(graph, model.module);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto name = asString(graph, items[i]))
            visit(*name, items[i + 1]);
    }
}

} // namespace

std::map<std::string_view, DType> moduleTypes(const Checkpoint& source)
{
    std::map<std::string_view, DType> out;
    forEachOfModule(source, [&](std::string_view name, NodeId value) {
        const auto param = source.findParam(name);
        if (const auto tensor = asTensor(source.file(source.templateModel).content->pickle(), value))
            out.emplace(param ? std::string_view(source.params[index(*param)].name) : name, tensor->dtype);
    });
    return out;
}

std::vector<ParamId> modelOrder(const Checkpoint& source)
{
    std::vector<ParamId> out;
    std::vector<bool> taken(source.params.size(), false);
    const auto take = [&](ParamId id) {
        if (!taken[index(id)])
            out.push_back(id);
        taken[index(id)] = true;
    };
    forEachOfModule(source, [&](std::string_view name, NodeId) {
        if (const auto id = source.findParam(name))
            take(*id);
    });
    for (uint32_t i = 0; i < source.params.size(); ++i)
        take(ParamId{i});
    return out;
}

std::vector<std::string> unheldNames(const Checkpoint& source)
{
    std::vector<std::string> out;
    forEachOfModule(source, [&](std::string_view name, NodeId value) {
        const PickleGraph& graph = source.file(source.templateModel).content->pickle();
        if (!source.findParam(name) && asTensor(graph, value))
            out.emplace_back(name);
    });
    return out;
}

} // namespace shardscope
