// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/model_states.h"
#include "core/plan/emit/reshard_context.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// Which tensors the `module` of a new model file holds; the others are placeholders of shape (0,), as ZeRO-3
/// writes them. Buffers are always there.
struct ModuleContent {
    bool trainable = false;
    bool frozen = false;
    bool masters = false; ///< trainable ones are made from their masters even where there are copies
};

/// Builds the parts of a model-states file that follow from stage and ranks, on a composer that reads the
/// source's model file. One use per file.
class ModelParts
{
public:
    /// `follows`: the source's stage and form stay, and with them the objects that its names are.
    ModelParts(ArchiveComposer& composer, std::shared_ptr<const ReshardContext> context, bool follows);

    /// `module` with the source's names in the source's order. Refused when a name's tensor is needed and no
    /// file holds it.
    Result<NodeId> module(ModuleContent content);
    /// `param_shapes`: one mapping per flat unit of the target that the rank has.
    NodeId paramShapes(uint32_t rank);
    /// `shared_params`: second name → the first, of tied parameters.
    NodeId sharedParams();
    /// `frozen_param_shapes`, for all frozen parameters in the order of the model.
    NodeId frozenShapes();
    /// `frozen_param_fragments`: the part of one rank under ZeRO-3, whole tensors (those of module()) else.
    NodeId frozenFragments(uint32_t rank);

private:
    void addShape(NodeId mapping, std::string_view name, const Shape& shape);
    NodeId placeholder(DType dtype);
    [[nodiscard]] bool leavesOut(const Parameter& param) const;
    [[nodiscard]] bool isUnrecorded(const TensorView& tensor) const;
    Status addGrafted(NodeId module, ModuleContent content);
    Result<NodeId> wholeWeight(ParamId param, NodeId inModule, DType dtype, bool fromMaster);
    [[nodiscard]] std::vector<ParamId> frozen() const;

    ArchiveComposer& m_composer;
    std::shared_ptr<const ReshardContext> m_context;
    const Checkpoint& m_source;
    const PickleGraph& m_graph;
    ModelStates m_old; ///< the source's
    PickleBuilder& m_builder;
    NodeId m_sizeClass = kNoNode;
    bool m_follows;
    struct KnownShape {
        NodeId name = kNoNode;
        NodeId shape = kNoNode;
    };
    std::unordered_map<std::string_view, KnownShape> m_knownShapes; ///< nodes of the source, by name
    std::unordered_map<uint32_t, NodeId> m_made; ///< by parameter: its whole tensor
    std::vector<std::pair<DType, NodeId>> m_placeholders;
};

} // namespace shardscope
