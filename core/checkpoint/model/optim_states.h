// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <array>
#include <string_view>
#include <utility>

namespace shardscope {

/// One optimizer file: the values of the keys that DeepSpeed's optimizers write. A value is kNoNode if the
/// file does not have the key, or was not read. Points into the file's graph. Start here to read a fact of an
/// optimizer file: nothing above core/checkpoint looks up its keys. Sources: runtime/zero/stage_1_and_2.py,
/// state_dict; runtime/zero/stage3.py, _rigid_state_dict; runtime/bf16_optimizer.py, state_dict.
struct OptimStates {
    const CheckpointFile* file = nullptr; ///< null if it was made from a graph alone
    const PickleGraph* graph = nullptr; ///< null if the file was not read
    /// The mapping that has all of the following: `optimizer_state_dict` in an optimizer file, `optimizer` in
    /// a model file without ZeRO, the root in a universal folder.
    NodeId wrapper = kNoNode;

    NodeId version = kNoNode; ///< `ds_version`
    NodeId zeroStage = kNoNode;
    NodeId partitionCount = kNoNode; ///< ZeRO-1/2: a list by param group; ZeRO-3: a number
    NodeId lossScaler = kNoNode; ///< the object; BF16_Optimizer and runs without ZeRO do not save it
    NodeId dynamicLossScale = kNoNode;
    NodeId overflow = kNoNode;
    NodeId clipGrad = kNoNode;
    // ZeRO-1/2
    NodeId baseState = kNoNode; ///< `base_optimizer_state`: torch's optimizer; a list in elastic checkpoints
    NodeId baseStep = kNoNode; ///< `base_optimizer_state_step`, elastic checkpoints only
    NodeId masters = kNoNode; ///< `single_partition_of_fp32_groups`: a tensor by param group
    NodeId groupPaddings = kNoNode; ///< a number by param group
    NodeId alignmentPaddings = kNoNode; ///< `param_alignment_paddings`
    NodeId sliceMappings = kNoNode; ///< `param_slice_mappings`: a mapping by param group, name to place
    // ZeRO-3
    NodeId torchState = kNoNode; ///< `optimizer_state_dict`: torch's optimizer
    NodeId flatGroups = kNoNode; ///< `fp32_flat_groups`: a tensor by sub-group
    NodeId partitionGroups = kNoNode; ///< `ds_zero_partition_groups`, of AutoEP
    // universal folders, and torch's own optimizer without ZeRO
    NodeId state = kNoNode;
    NodeId paramGroups = kNoNode;

    explicit operator bool() const { return graph != nullptr; }
};

/// The wrapper in an optimizer file: the value of `optimizer_state_dict`, or kNoNode.
[[nodiscard]] NodeId wrapperOf(const PickleGraph& graph);

/// The values of a mapping in the graph. `wrapper` is that mapping.
[[nodiscard]] OptimStates optimStates(const PickleGraph& graph, NodeId wrapper);
/// Of one rank's optimizer file, with wrapperOf().
[[nodiscard]] OptimStates optimStates(const PickleGraph& graph);
[[nodiscard]] OptimStates optimStates(const CheckpointFile& file);
/// Of the template optimizer file (often rank 0's), with Checkpoint::optimWrapper.
[[nodiscard]] OptimStates optimStates(const Checkpoint& checkpoint);

/// A mapping of torch.optim.Optimizer.state_dict().
struct TorchOptimizer {
    NodeId state = kNoNode; ///< by number
    NodeId paramGroups = kNoNode; ///< a list of mappings
};
[[nodiscard]] TorchOptimizer torchOptimizer(const PickleGraph& graph, NodeId node);

/// The loss scaler: attributes of ZeRO's object (runtime/fp16/loss_scaler.py), or keys of the wrapper without
/// ZeRO (runtime/fp16/fused_optimizer.py). A value is kNoNode if it is not saved.
struct LossScaler {
    std::string_view className; ///< "LossScaler", "DynamicLossScaler"; empty without an object
    NodeId values = kNoNode; ///< the mapping that has the following; kNoNode if there is none
    NodeId scale = kNoNode; ///< `cur_scale`
    NodeId minScale = kNoNode;
    NodeId iteration = kNoNode; ///< `cur_iter`
    NodeId lastOverflow = kNoNode; ///< `last_overflow_iter`; -1 before the first
    NodeId scaleFactor = kNoNode;
    NodeId scaleWindow = kNoNode;
};
/// Of the object if there is one, else of the wrapper's keys.
[[nodiscard]] LossScaler lossScaler(const OptimStates& optim);

/// What only a dynamic scaler has, by key, in the order in which runtime/fp16/fused_optimizer.py writes it.
[[nodiscard]] std::array<std::pair<std::string_view, NodeId>, 4> dynamicValues(const LossScaler& scaler);

/// The options of a param group that this program reads; the mapping may have others. kNoNode if missing.
struct GroupOptions {
    NodeId params = kNoNode; ///< list of the numbers of states
    NodeId lr = kNoNode;
    NodeId betas = kNoNode;
    NodeId eps = kNoNode;
    NodeId weightDecay = kNoNode;
    NodeId biasCorrection = kNoNode;
    NodeId decoupledDecay = kNoNode; ///< `decoupled_weight_decay`
    NodeId momentum = kNoNode;
    NodeId dampening = kNoNode;
    NodeId lrDecay = kNoNode;
    NodeId step = kNoNode; ///< Apex keeps the step here
    NodeId useMuon = kNoNode;
    NodeId maxCoeff = kNoNode; ///< Lamb's
    NodeId amsgrad = kNoNode;
};
/// `options` is ParamGroup::options, a mapping or kNoNode.
[[nodiscard]] GroupOptions readGroupOptions(const PickleGraph& graph, NodeId options);

} // namespace shardscope
