// SPDX-License-Identifier: Apache-2.0
#include "ui/models/tensor_paths.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <vector>

namespace shardscope::ui {

namespace {

constexpr size_t kLongestLabel = 120;

/// One step of a path: its name and the step before it.
struct Step {
    size_t before = 0;
    std::string label;
};

struct Visit {
    NodeId node = kNoNode;
    size_t step = 0;
};

std::string labelOf(const PickleGraph& graph, NodeId key)
{
    if (const auto text = asString(graph, key))
        return std::string(text->substr(0, kLongestLabel));
    if (const auto number = asInteger(graph, key))
        return std::to_string(*number);
    return "?";
}

std::string wayTo(const std::vector<Step>& steps, size_t step)
{
    std::vector<const std::string*> labels;
    for (; step != 0; step = steps[step].before)
        labels.push_back(&steps[step].label);
    std::string way;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label)
        way += (way.empty() ? "" : ".") + **label;
    return way;
}

/// Pushes the items of a container on the stack, the first one on top.
void pushContent(
    const PickleGraph& graph, const Visit& at, std::vector<Step>& steps, std::vector<Visit>& stack)
{
    NodeId mapping = at.node;
    if (const auto object = asObject(graph, at.node); object && !isMapping(graph, at.node))
        mapping = object->attributes;
    if (mapping != kNoNode && isMapping(graph, mapping)) {
        const std::span<const NodeId> pairs = mappingItems(graph, mapping);
        for (size_t i = pairs.size() / 2; i-- > 0;) {
            steps.push_back({at.step, labelOf(graph, pairs[2 * i])});
            stack.push_back({pairs[2 * i + 1], steps.size() - 1});
        }
        return;
    }
    const std::span<const NodeId> items = sequenceItems(graph, at.node);
    for (size_t i = items.size(); i-- > 0;) {
        steps.push_back({at.step, std::to_string(i)});
        stack.push_back({items[i], steps.size() - 1});
    }
}

bool mayHoldTensors(NodeKind kind)
{
    return kind == NodeKind::List || kind == NodeKind::Tuple || kind == NodeKind::Dict
        || kind == NodeKind::Reduce || kind == NodeKind::NewObj || kind == NodeKind::NewObjEx;
}

} // namespace

std::map<std::string, std::string> tensorPaths(const PickleGraph& graph, size_t most)
{
    std::map<std::string, std::string> paths;
    if (graph.root() == kNoNode)
        return paths;
    std::vector<bool> seen(graph.nodeCount(), false);
    std::vector<Step> steps(1);
    std::vector<Visit> stack{{graph.root(), 0}};
    for (size_t looked = 0; !stack.empty() && looked < most; ++looked) {
        const Visit at = stack.back();
        stack.pop_back();
        if (at.node == kNoNode || !mayHoldTensors(graph.kind(at.node)) || seen[index(at.node)])
            continue;
        seen[index(at.node)] = true;
        if (looksLikeTensor(graph, at.node)) {
            if (const auto tensor = asTensor(graph, at.node))
                paths.try_emplace(std::string(tensor->storage.key), wayTo(steps, at.step));
            continue;
        }
        pushContent(graph, at, steps, stack);
    }
    return paths;
}

} // namespace shardscope::ui
