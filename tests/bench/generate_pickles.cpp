// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generate_pickles.h"

#include "tests/bench/torch_pickle.h"

#include <fmt/format.h>

#include <array>

namespace shardscope::bench {

namespace {

constexpr std::string_view kVersion = "0.19.8";

NodeId configuration(TorchPickle& out, const GenerateOptions& options)
{
    const NodeId zero = out.dict({{"stage", out.integer(static_cast<uint64_t>(options.stage))}});
    if (options.stage == 3 && options.subGroupSize != 0)
        out.set(zero, "sub_group_size", out.integer(options.subGroupSize));
    return out.dict(
        {{"train_micro_batch_size_per_gpu", out.integer(1)}, {"gradient_accumulation_steps", out.integer(1)},
            {"gradient_clipping", out.real(1.0)}, {"zero_allow_untested_optimizer", out.boolean(true)},
            {"zero_force_ds_cpu_optimizer", out.boolean(false)},
            {"bf16", out.dict({{"enabled", out.boolean(true)}})}, {"zero_optimization", zero}});
}

/// state_dict()'s own record of module versions: every module before what is in it.
NodeId moduleVersions(TorchPickle& out, const GeneratedModel& model)
{
    const NodeId made = out.orderedDict();
    const auto add = [&](std::string_view name) {
        out.builder().setItem(made, out.builder().string(name), out.dict({{"version", out.integer(1)}}));
    };
    add("");
    std::string_view previous;
    for (const GeneratedParam& param : model.params) {
        const std::string_view name = param.name;
        for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
            if (previous.substr(0, dot + 1) != name.substr(0, dot + 1))
                add(name.substr(0, dot));
        }
        previous = name;
    }
    return made;
}

NodeId moduleWeights(TorchPickle& out, const GenerateOptions& options, const GeneratedModel& model)
{
    /// Position of each parameter; storages are numbered in the module's order.
    std::vector<std::pair<uint32_t, uint64_t>> places(model.params.size());
    for (uint32_t i = 0; i < model.units.size() && options.stage != 3; ++i) {
        for (uint32_t k = 0; k < model.units[i].params.size(); ++k)
            places[model.units[i].params[k]] = {i, model.units[i].partition.paramStart(k)};
    }
    const NodeId made = out.orderedDict();
    for (uint32_t i = 0; i < model.params.size(); ++i) {
        TorchPickle::Tensor tensor{"BFloat16Storage", i, 0, 0, {0}, false};
        if (options.stage != 3) {
            const auto [unit, offset] = places[i];
            const uint64_t padded = model.units[unit].partition.partitionElements() * options.world;
            tensor = {"BFloat16Storage", unit, padded, offset, model.params[i].shape, false};
        }
        out.builder().setItem(made, out.builder().string(model.params[i].name), out.tensor(tensor));
    }
    const NodeId state = out.builder().dict();
    out.set(state, "_metadata", moduleVersions(out, model));
    out.builder().setState(made, state);
    return made;
}

NodeId paramShapes(TorchPickle& out, const GeneratedModel& model)
{
    const NodeId made = out.builder().list();
    for (const GeneratedUnit& unit : model.units) {
        const NodeId shapes = out.orderedDict();
        for (const uint32_t param : unit.params) {
            out.builder().setItem(shapes, out.builder().string(model.params[param].name),
                out.torchSize(model.params[param].shape));
        }
        out.builder().append(made, shapes);
    }
    return made;
}

NodeId paramGroups(TorchPickle& out, const GeneratedModel& model)
{
    const NodeId made = out.builder().list();
    const std::array betas{out.real(0.9), out.real(0.95)};
    const NodeId betasTuple = out.builder().tuple(betas);
    for (uint32_t group = 0; group < model.groups; ++group) {
        std::vector<uint64_t> units;
        bool matrices = false;
        for (uint32_t i = 0; i < model.units.size(); ++i) {
            if (model.units[i].group == group) {
                units.push_back(i);
                matrices = model.params[model.units[i].params.front()].shape.size() > 1;
            }
        }
        out.builder().append(made,
            out.dict({{"weight_decay", out.real(matrices ? 0.1 : 0.0)}, {"lr", out.real(3e-4)},
                {"betas", betasTuple}, {"eps", out.real(1e-8)}, {"amsgrad", out.boolean(false)},
                {"maximize", out.boolean(false)}, {"foreach", out.none()}, {"capturable", out.boolean(false)},
                {"differentiable", out.boolean(false)}, {"fused", out.none()},
                {"decoupled_weight_decay", out.boolean(true)}, {"params", out.integers(units, false)}}));
    }
    return made;
}

NodeId torchOptimizer(TorchPickle& out, const GeneratedModel& model)
{
    const NodeId states = out.builder().dict();
    for (uint32_t i = 0; i < model.units.size(); ++i) {
        const uint64_t part = model.units[i].partition.partitionElements();
        out.builder().setItem(states, out.integer(i),
            out.dict({{"step", out.tensor({"FloatStorage", 3 * i, 1, 0, {}, false})},
                {"exp_avg", out.tensor({"FloatStorage", 3 * i + 1, part, 0, {part}, false})},
                {"exp_avg_sq", out.tensor({"FloatStorage", 3 * i + 2, part, 0, {part}, false})}}));
    }
    return out.dict({{"state", states}, {"param_groups", paramGroups(out, model)}});
}

NodeId masterWeights(
    TorchPickle& out, const GenerateOptions& options, const GeneratedModel& model, uint32_t rank)
{
    const NodeId made = out.builder().list();
    const auto firstStorage = static_cast<uint32_t>(3 * model.units.size());
    for (uint32_t i = 0; i < model.units.size(); ++i) {
        const GeneratedUnit& unit = model.units[i];
        const uint64_t part = unit.partition.partitionElements();
        // ZeRO-1/2 cut the padding from the view, not from the storage.
        const uint64_t lean = options.stage == 3 ? part : unit.partition.payloadOn(rank);
        const TorchPickle::Tensor tensor{"FloatStorage", firstStorage + i, part, 0, {lean}, true};
        const std::string id = fmt::format("{}_{}", unit.params.front(), unit.params.back());
        out.builder().append(
            made, options.stage == 3 ? out.tensorWith(tensor, "ds_id", id) : out.tensor(tensor));
    }
    return made;
}

/// Which part of each parameter this rank holds, and where in its flat partition.
NodeId sliceMappings(TorchPickle& out, const GeneratedModel& model, uint32_t rank)
{
    const NodeId made = out.builder().list();
    for (const GeneratedUnit& unit : model.units) {
        const NodeId mapping = out.orderedDict();
        unit.partition.forEachPiece(rank, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
            if (!piece.isPadding()) {
                out.builder().setItem(mapping,
                    out.builder().string(model.params[unit.params[piece.param]].name),
                    out.object("deepspeed.utils.tensor_fragment", "fragment_address",
                        {{"numel", out.integer(piece.elements)}, {"start", out.integer(piece.flatOffset)}}));
            }
            return true;
        });
        out.builder().append(made, mapping);
    }
    return made;
}

NodeId zeroStage(TorchPickle& out, int stage)
{
    return out.builder().reduce(out.global("deepspeed.runtime.zero.config", "ZeroStageEnum"),
        out.integers({static_cast<uint64_t>(stage)}, true));
}

NodeId lossScaler(TorchPickle& out)
{
    return out.object("deepspeed.runtime.fp16.loss_scaler", "LossScaler",
        {{"cur_scale", out.real(1.0)}, {"dynamic", out.boolean(false)}});
}

NodeId zeroOptimizer12(
    TorchPickle& out, const GenerateOptions& options, const GeneratedModel& model, uint32_t rank)
{
    std::vector<uint64_t> paddings;
    const NodeId alignmentPaddings = out.builder().list();
    for (const GeneratedUnit& unit : model.units) {
        paddings.push_back(unit.partition.paddingOn(rank));
        out.builder().append(
            alignmentPaddings, out.integers(std::vector<uint64_t>(unit.params.size(), 0), false));
    }
    const std::vector<uint64_t> counts(model.units.size(), options.world);
    return out.dict({{"loss_scaler", lossScaler(out)}, {"dynamic_loss_scale", out.boolean(false)},
        {"overflow", out.boolean(false)}, {"clip_grad", out.real(1.0)},
        {"base_optimizer_state", torchOptimizer(out, model)},
        {"single_partition_of_fp32_groups", masterWeights(out, options, model, rank)},
        {"zero_stage", zeroStage(out, options.stage)}, {"group_paddings", out.integers(paddings, false)},
        {"param_alignment_paddings", alignmentPaddings}, {"partition_count", out.integers(counts, false)},
        {"ds_version", out.word(kVersion)}, {"param_slice_mappings", sliceMappings(out, model, rank)}});
}

NodeId zeroOptimizer3(
    TorchPickle& out, const GenerateOptions& options, const GeneratedModel& model, uint32_t rank)
{
    return out.dict({{"zero_stage", zeroStage(out, 3)}, {"loss_scaler", lossScaler(out)},
        {"dynamic_loss_scale", out.boolean(false)}, {"overflow", out.boolean(false)},
        {"partition_count", out.integer(options.world)}, {"optimizer_state_dict", torchOptimizer(out, model)},
        {"fp32_flat_groups", masterWeights(out, options, model, rank)}});
}

} // namespace

Result<std::string> modelStatesPickle(const GenerateOptions& options, const GeneratedModel& model)
{
    TorchPickle out;
    // ZeRO-1 does not ask for frozen parameters.
    const auto frozen = [&] { return options.stage == 1 ? out.none() : out.orderedDict(); };
    const NodeId root = out.dict({{"module", moduleWeights(out, options, model)},
        {"buffer_names", out.builder().list()}, {"optimizer", out.none()},
        {"param_shapes", paramShapes(out, model)}, {"frozen_param_shapes", frozen()},
        {"shared_params", out.dict()}, {"frozen_param_fragments", frozen()}, {"lr_scheduler", out.none()},
        {"data_sampler", out.none()}, {"random_ltd", out.none()}, {"skipped_steps", out.integer(0)},
        {"global_steps", out.integer(kGeneratedSteps)},
        {"global_samples", out.integer(uint64_t{kGeneratedSteps} * options.world)},
        {"dp_world_size", out.integer(options.world)}, {"mp_world_size", out.integer(1)},
        {"checkpoint_parallel_dimensions",
            out.dict({{"pp_degree", out.integer(1)}, {"tp_degree", out.integer(1)}})},
        {"ds_config", configuration(out, options)}, {"ds_version", out.word(kVersion)}});
    return out.finish(root);
}

Result<std::string> optimStatesPickle(
    const GenerateOptions& options, const GeneratedModel& model, uint32_t rank)
{
    TorchPickle out;
    const NodeId zero = options.stage == 3 ? zeroOptimizer3(out, options, model, rank)
                                           : zeroOptimizer12(out, options, model, rank);
    const NodeId root = out.dict({{"optimizer_state_dict", zero}, {"ds_config", configuration(out, options)},
        {"ds_version", out.word(kVersion)}});
    return out.finish(root);
}

} // namespace shardscope::bench
