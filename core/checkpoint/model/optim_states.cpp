// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/optim_states.h"

#include "core/checkpoint/model/keyed_view.h"

#include <array>

namespace shardscope {

namespace {

using Key = ViewKey<OptimStates>;

constexpr std::array kKeys{
    Key{"ds_version", &OptimStates::version},
    Key{"zero_stage", &OptimStates::zeroStage},
    Key{"partition_count", &OptimStates::partitionCount},
    Key{"loss_scaler", &OptimStates::lossScaler},
    Key{"dynamic_loss_scale", &OptimStates::dynamicLossScale},
    Key{"overflow", &OptimStates::overflow},
    Key{"clip_grad", &OptimStates::clipGrad},
    Key{"base_optimizer_state", &OptimStates::baseState},
    Key{"base_optimizer_state_step", &OptimStates::baseStep},
    Key{"single_partition_of_fp32_groups", &OptimStates::masters},
    Key{"group_paddings", &OptimStates::groupPaddings},
    Key{"param_alignment_paddings", &OptimStates::alignmentPaddings},
    Key{"param_slice_mappings", &OptimStates::sliceMappings},
    Key{"optimizer_state_dict", &OptimStates::torchState},
    Key{"fp32_flat_groups", &OptimStates::flatGroups},
    Key{"ds_zero_partition_groups", &OptimStates::partitionGroups},
    Key{"state", &OptimStates::state},
    Key{"param_groups", &OptimStates::paramGroups},
};

using TorchKey = ViewKey<TorchOptimizer>;

constexpr std::array kTorchKeys{
    TorchKey{"state", &TorchOptimizer::state},
    TorchKey{"param_groups", &TorchOptimizer::paramGroups},
};

using ScalerKey = ViewKey<LossScaler>;

constexpr std::array kScalerKeys{
    ScalerKey{"cur_scale", &LossScaler::scale},
    ScalerKey{"min_scale", &LossScaler::minScale},
    ScalerKey{"cur_iter", &LossScaler::iteration},
    ScalerKey{"last_overflow_iter", &LossScaler::lastOverflow},
    ScalerKey{"scale_factor", &LossScaler::scaleFactor},
    ScalerKey{"scale_window", &LossScaler::scaleWindow},
};

using OptionKey = ViewKey<GroupOptions>;

constexpr std::array kOptionKeys{
    OptionKey{"params", &GroupOptions::params},
    OptionKey{"lr", &GroupOptions::lr},
    OptionKey{"betas", &GroupOptions::betas},
    OptionKey{"eps", &GroupOptions::eps},
    OptionKey{"weight_decay", &GroupOptions::weightDecay},
    OptionKey{"bias_correction", &GroupOptions::biasCorrection},
    OptionKey{"decoupled_weight_decay", &GroupOptions::decoupledDecay},
    OptionKey{"momentum", &GroupOptions::momentum},
    OptionKey{"dampening", &GroupOptions::dampening},
    OptionKey{"lr_decay", &GroupOptions::lrDecay},
    OptionKey{"step", &GroupOptions::step},
    OptionKey{"use_muon", &GroupOptions::useMuon},
    OptionKey{"max_coeff", &GroupOptions::maxCoeff},
    OptionKey{"amsgrad", &GroupOptions::amsgrad},
};

} // namespace

NodeId wrapperOf(const PickleGraph& graph)
{
    return lookup(graph, graph.root(), "optimizer_state_dict");
}

OptimStates optimStates(const PickleGraph& graph, NodeId wrapper)
{
    OptimStates out;
    out.graph = &graph;
    out.wrapper = wrapper;
    readKeys<OptimStates>(graph, wrapper, kKeys, out);
    return out;
}

OptimStates optimStates(const PickleGraph& graph)
{
    return optimStates(graph, wrapperOf(graph));
}

OptimStates optimStates(const CheckpointFile& file)
{
    OptimStates out = file.content ? optimStates(file.content->pickle()) : OptimStates{};
    out.file = &file;
    return out;
}

OptimStates optimStates(const Checkpoint& checkpoint)
{
    if (checkpoint.templateOptim == kNoFile)
        return {};
    const CheckpointFile& file = checkpoint.file(checkpoint.templateOptim);
    OptimStates out
        = file.content ? optimStates(file.content->pickle(), checkpoint.optimWrapper) : OptimStates{};
    out.file = &file;
    return out;
}

TorchOptimizer torchOptimizer(const PickleGraph& graph, NodeId node)
{
    TorchOptimizer out;
    readKeys<TorchOptimizer>(graph, node, kTorchKeys, out);
    return out;
}

LossScaler lossScaler(const OptimStates& optim)
{
    LossScaler out;
    if (!optim)
        return out;
    out.values = optim.wrapper;
    if (optim.lossScaler != kNoNode) {
        const auto object = asObject(*optim.graph, optim.lossScaler);
        out.values = object ? object->attributes : kNoNode;
        out.className = object ? object->className : std::string_view();
    }
    readKeys<LossScaler>(*optim.graph, out.values, kScalerKeys, out);
    return out;
}

std::array<std::pair<std::string_view, NodeId>, 4> dynamicValues(const LossScaler& scaler)
{
    return {{{"cur_iter", scaler.iteration}, {"last_overflow_iter", scaler.lastOverflow},
        {"scale_factor", scaler.scaleFactor}, {"scale_window", scaler.scaleWindow}}};
}

GroupOptions readGroupOptions(const PickleGraph& graph, NodeId options)
{
    GroupOptions out;
    readKeys<GroupOptions>(graph, options, kOptionKeys, out);
    return out;
}

} // namespace shardscope
