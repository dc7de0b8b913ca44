// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/model_states.h"

#include "core/checkpoint/model/keyed_view.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

using Key = ViewKey<ModelStates>;

constexpr std::array kKeys{
    Key{"module", &ModelStates::module},
    Key{"optimizer", &ModelStates::optimizer},
    Key{"buffer_names", &ModelStates::bufferNames},
    Key{"param_shapes", &ModelStates::paramShapes},
    Key{"frozen_param_shapes", &ModelStates::frozenParamShapes},
    Key{"frozen_param_fragments", &ModelStates::frozenParamFragments},
    Key{"shared_params", &ModelStates::sharedParams},
    Key{"lr_scheduler", &ModelStates::scheduler},
    Key{"ds_config", &ModelStates::config},
    Key{"ds_version", &ModelStates::version},
    Key{"dp_world_size", &ModelStates::dpWorldSize},
    Key{"mp_world_size", &ModelStates::mpWorldSize},
    Key{"checkpoint_parallel_dimensions", &ModelStates::parallelDimensions},
    Key{"global_steps", &ModelStates::globalSteps},
    Key{"global_samples", &ModelStates::globalSamples},
    Key{"skipped_steps", &ModelStates::skippedSteps},
    Key{"universal_checkpoint_info", &ModelStates::universalInfo},
    Key{"num_experts", &ModelStates::numExperts},
    Key{"ds_autoep_layers", &ModelStates::autoEpLayers},
    Key{"folding", &ModelStates::folding},
};

/// Inside `checkpoint_parallel_dimensions`.
constexpr std::array kDegreeKeys{
    Key{"tp_degree", &ModelStates::tpDegree},
    Key{"pp_degree", &ModelStates::ppDegree},
};

/// Inside `universal_checkpoint_info`.
constexpr std::array kUniversalKeys{
    Key{"ds_autoep_layers", &ModelStates::universalAutoEpLayers},
};

/// Keys whose values are not read.
constexpr std::array<std::string_view, 5> kOtherKeys{
    "data_sampler", "random_ltd", "sparse_tensor_module_names", "csr_tensor_module_names", "autoep_layers"};

using SchedulerKey = ViewKey<SchedulerState>;

constexpr std::array kSchedulerKeys{
    SchedulerKey{"last_batch_iteration", &SchedulerState::lastBatchIteration},
    SchedulerKey{"_last_lr", &SchedulerState::lastRates},
    SchedulerKey{"base_lrs", &SchedulerState::baseRates},
    SchedulerKey{"_anneal_func_type", &SchedulerState::annealFunction},
    SchedulerKey{"cycle_momentum", &SchedulerState::cycleMomentum},
};

} // namespace

NodeId ModelStates::configValue(std::initializer_list<std::string_view> path) const
{
    NodeId node = config;
    for (const std::string_view key : path)
        node = node == kNoNode ? kNoNode : lookup(*graph, node, key);
    return node;
}

std::optional<int64_t> ModelStates::configInteger(std::initializer_list<std::string_view> path) const
{
    return graph == nullptr ? std::nullopt : asInteger(*graph, configValue(path));
}

bool ModelStates::configFlag(std::initializer_list<std::string_view> path) const
{
    return graph != nullptr && asBool(*graph, configValue(path)) == true;
}

std::optional<uint64_t> ModelStates::subGroupSize() const
{
    if (graph == nullptr || configValue({"zero_optimization"}) == kNoNode)
        return std::nullopt;
    const NodeId node = configValue({"zero_optimization", "sub_group_size"});
    const auto size = node == kNoNode ? static_cast<double>(kDefaultSubGroupSize) : asNumber(*graph, node);
    if (!size || !(*size >= 1) || !(*size <= 1e18))
        return std::nullopt;
    return static_cast<uint64_t>(*size);
}

ModelStates modelStates(const PickleGraph& graph)
{
    ModelStates out;
    out.graph = &graph;
    out.root = graph.root();
    readKeys<ModelStates>(graph, out.root, kKeys, out);
    readKeys<ModelStates>(graph, out.parallelDimensions, kDegreeKeys, out);
    readKeys<ModelStates>(graph, out.universalInfo, kUniversalKeys, out);
    return out;
}

ModelStates modelStates(const CheckpointFile& file)
{
    ModelStates out = file.content ? modelStates(file.content->pickle()) : ModelStates{};
    out.file = &file;
    return out;
}

ModelStates modelStates(const Checkpoint& checkpoint)
{
    return checkpoint.templateModel == kNoFile ? ModelStates{}
                                               : modelStates(checkpoint.file(checkpoint.templateModel));
}

SchedulerState schedulerState(const ModelStates& model)
{
    SchedulerState out;
    if (!model || !isMapping(*model.graph, model.scheduler))
        return out;
    out.node = model.scheduler;
    readKeys<SchedulerState>(*model.graph, out.node, kSchedulerKeys, out);
    return out;
}

bool isEngineKey(std::string_view key)
{
    return std::any_of(kKeys.begin(), kKeys.end(), [&](const Key& own) { return own.name == key; })
        || std::find(kOtherKeys.begin(), kOtherKeys.end(), key) != kOtherKeys.end();
}

} // namespace shardscope
