// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_groups.h"

#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/state_values.h"
#include "core/checkpoint/units/unit_states.h"

#include <unordered_map>

namespace shardscope {

namespace {

class Groups
{
public:
    Groups(const Reading& reading, FileId file, NodeId optimizer, CheckpointKind kind)
        : m_reading(reading)
        , m_file(file)
        , m_graph(reading.content(file)->pickle())
        , m_optimizer(optimizer)
        , m_kind(kind)
    {
    }

    Result<Stage0Groups> read()
    {
        const NodeId torchState
            = hasTorchOptimizer(m_kind) ? m_optimizer : lookup(m_graph, m_optimizer, "optimizer_state_dict");
        m_out.state = lookup(m_graph, torchState, "state");
        const auto states = mappingItems(m_graph, m_out.state);
        for (size_t i = 0; i + 1 < states.size(); i += 2) {
            if (const auto number = asInteger(m_graph, states[i]))
                m_stateOf[*number] = states[i + 1];
        }
        const bool isFlat = hasFlatMasters(m_kind);
        const auto entries = readParamGroups(m_graph, torchState);
        const auto masters = sequenceItems(
            m_graph, lookup(m_graph, m_optimizer, isFlat ? "fp32_groups_flat" : "fp32_groups"));
        if (entries.empty())
            return damaged("the optimizer's state records no param groups");
        if (!hasTorchOptimizer(m_kind) && masters.size() != entries.size())
            return damaged("masters and options of the optimizer disagree about the number of param groups");
        for (size_t g = 0; g < entries.size(); ++g) {
            m_out.groups.emplace_back().entry = entries[g];
            SHARDSCOPE_CHECK(
                isFlat ? readFlat(masters[g]) : readListed(hasTorchOptimizer(m_kind) ? kNoNode : masters[g]));
        }
        return std::move(m_out);
    }

private:
    [[nodiscard]] tl::unexpected<Error> damaged(std::string what) const
    {
        return fail(ErrorCode::Damaged, std::move(what), m_reading.out.file(m_file).path.string());
    }

    Status readFlat(NodeId masters)
    {
        Stage0Group& group = m_out.groups.back();
        group.flat = masters;
        const auto run = flatRun(m_reading, m_file, masters, group.masterType);
        if (!run)
            return damaged("the masters of a param group cannot be used");
        group.flatRun = *run;
        return {};
    }

    Status readListed(NodeId masters)
    {
        Stage0Group& group = m_out.groups.back();
        const auto tensors = sequenceItems(m_graph, masters);
        group.masters.assign(tensors.begin(), tensors.end());
        const size_t count = group.entry.stateKeys.size();
        if (masters != kNoNode && group.masters.size() != count)
            return damaged("masters and options of a param group disagree about the number of parameters");
        group.shapes.resize(count);
        group.masterBytes.resize(count);
        for (size_t i = 0; i < count; ++i) {
            const auto state = m_stateOf.find(group.entry.stateKeys[i]);
            group.states.push_back(state == m_stateOf.end() ? kNoNode : state->second);
            if (masters == kNoNode)
                group.shapes[i] = shapeOfStates(group.states.back());
            else
                SHARDSCOPE_CHECK(readMaster(group, i));
        }
        return {};
    }

    Status readMaster(Stage0Group& group, size_t i) const
    {
        const auto tensor = asTensor(m_graph, group.masters[i]);
        const auto extent = tensor ? m_reading.content(m_file)->extentOf(*tensor) : forward(tensor.error());
        if (!tensor || !extent)
            return damaged("a master cannot be used: " + describe(tensor ? extent.error() : tensor.error()));
        if (!tensor->isContiguous())
            return fail(ErrorCode::Unsupported, "a master is not stored in row-major order",
                m_reading.out.file(m_file).path.string());
        if (i == 0)
            group.masterType = tensor->dtype;
        if (tensor->dtype != group.masterType)
            return damaged("the masters of a param group have different dtypes");
        group.shapes[i] = tensor->sizes;
        group.masterBytes[i] = extent->byteOffset;
        return {};
    }

    /// The shape of a parameter is the shape of most states that the optimizer keeps for it. On a tie, the
    /// largest.
    [[nodiscard]] std::optional<Shape> shapeOfStates(NodeId entry) const
    {
        std::optional<Shape> out = factoredShape(m_graph, entry);
        if (out)
            return out;
        uint64_t most = 0;
        for (const StateValue& value : stateValues(m_graph, entry)) {
            if (value.name == "step" || !looksLikeTensor(m_graph, value.node))
                continue;
            const auto tensor = asTensor(m_graph, value.node);
            if (tensor && (!out || tensor->elements().value_or(0) > most)) {
                out = tensor->sizes;
                most = tensor->elements().value_or(0);
            }
        }
        return out;
    }

    const Reading& m_reading;
    FileId m_file;
    const PickleGraph& m_graph;
    NodeId m_optimizer;
    CheckpointKind m_kind;
    Stage0Groups m_out;
    std::unordered_map<int64_t, NodeId> m_stateOf; ///< by number: one entry per parameter of the model
};

} // namespace

CheckpointKind formOfOptimizer(const PickleGraph& graph, NodeId optimizer)
{
    if (lookup(graph, optimizer, "fp32_groups_flat") != kNoNode)
        return CheckpointKind::Fp16;
    return lookup(graph, optimizer, "fp32_groups") != kNoNode ? CheckpointKind::Fp16Unfused
                                                              : CheckpointKind::Torch;
}

Result<Stage0Groups> readStage0Groups(
    const Reading& reading, FileId file, NodeId optimizer, CheckpointKind kind)
{
    return Groups(reading, file, optimizer, kind).read();
}

} // namespace shardscope
