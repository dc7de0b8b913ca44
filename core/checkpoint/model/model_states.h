// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace shardscope {

inline constexpr uint64_t kDefaultSubGroupSize = 1'000'000'000; ///< runtime/zero/config.py

/// One model-states file: the values of the keys that DeepSpeed writes (runtime/engine.py, _save_checkpoint).
/// A value is kNoNode if the file does not have the key, or was not read. Other keys are the client's.
/// Points into the file's graph. Start here to read a fact of a model file: nothing above core/checkpoint
/// looks up its keys.
struct ModelStates {
    const CheckpointFile* file = nullptr; ///< null if it was made from a graph alone
    const PickleGraph* graph = nullptr; ///< null if the file was not read
    NodeId root = kNoNode;

    NodeId module
        = kNoNode; ///< tensors by name; in ZeRO-3 empty ones; None if the weights are in layer files
    NodeId optimizer = kNoNode; ///< without ZeRO: the optimizer's state; None with ZeRO
    NodeId bufferNames = kNoNode; ///< list of names in `module` that are buffers
    NodeId paramShapes = kNoNode; ///< list with a mapping per param group: name to shape, in flat order
    NodeId frozenParamShapes = kNoNode; ///< name to shape
    NodeId frozenParamFragments = kNoNode; ///< name to the rank's share (ZeRO-3), or to the tensor
    NodeId sharedParams = kNoNode; ///< tied parameters: name to the name that `module` and shapes use
    NodeId scheduler = kNoNode; ///< `lr_scheduler`: its state_dict, or None
    NodeId config = kNoNode; ///< `ds_config`; configValue() reads it
    NodeId version = kNoNode; ///< `ds_version`, since 0.4.0
    NodeId dpWorldSize = kNoNode;
    NodeId mpWorldSize = kNoNode;
    NodeId parallelDimensions = kNoNode; ///< `checkpoint_parallel_dimensions`, which has the next two
    NodeId tpDegree = kNoNode;
    NodeId ppDegree = kNoNode;
    NodeId globalSteps = kNoNode;
    NodeId globalSamples = kNoNode;
    NodeId skippedSteps = kNoNode;
    NodeId universalInfo
        = kNoNode; ///< `universal_checkpoint_info`: the client's patterns, or AutoTP's record
    NodeId universalAutoEpLayers = kNoNode; ///< `ds_autoep_layers` inside the former
    NodeId numExperts = kNoNode; ///< experts per layer; in old releases one number
    NodeId autoEpLayers = kNoNode; ///< `ds_autoep_layers`
    NodeId folding = kNoNode; ///< AutoEP: how experts are folded over tensor slices

    explicit operator bool() const { return graph != nullptr; }
    /// A value inside `ds_config` by its path of keys; `ds_config` itself for an empty path.
    [[nodiscard]] NodeId configValue(std::initializer_list<std::string_view> path) const;
    /// The same as a number or truth value; empty, or false, if it is missing or of another type.
    [[nodiscard]] std::optional<int64_t> configInteger(std::initializer_list<std::string_view> path) const;
    [[nodiscard]] bool configFlag(std::initializer_list<std::string_view> path) const;
    /// The run's `sub_group_size`, in elements per rank: kDefaultSubGroupSize where `zero_optimization` does
    /// not name it. Nothing without `zero_optimization`, or if it is no number from 1 to 1e18.
    [[nodiscard]] std::optional<uint64_t> subGroupSize() const;
    /// Whether `module` is there and has tensors by name.
    [[nodiscard]] bool hasModule() const { return graph != nullptr && isMapping(*graph, module); }
};

[[nodiscard]] ModelStates modelStates(const PickleGraph& graph);
[[nodiscard]] ModelStates modelStates(const CheckpointFile& file);
/// Of the template model file (often rank 0's).
[[nodiscard]] ModelStates modelStates(const Checkpoint& checkpoint);

/// The scheduler's state. Values are kNoNode where its class does not keep them.
struct SchedulerState {
    NodeId node = kNoNode; ///< a mapping; kNoNode if there is no scheduler
    NodeId lastBatchIteration = kNoNode; ///< DeepSpeed's own (runtime/lr_schedules.py): steps taken minus 1
    NodeId lastRates = kNoNode; ///< `_last_lr`: a rate per param group
    NodeId baseRates = kNoNode; ///< `base_lrs`: a rate per param group
    NodeId annealFunction = kNoNode; ///< `_anneal_func_type` of torch's OneCycleLR
    NodeId cycleMomentum = kNoNode;
};
[[nodiscard]] SchedulerState schedulerState(const ModelStates& model);

/// Whether DeepSpeed itself writes this key into a model-states file.
[[nodiscard]] bool isEngineKey(std::string_view key);

} // namespace shardscope
