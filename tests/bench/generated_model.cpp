// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generated_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardscope::bench {

namespace {

constexpr uint32_t kPerLayer = 10;
/// Elements of one layer in units of width², vectors left out.
constexpr double kLayerSquares = 10.75;
constexpr uint64_t kDefaultSubGroupSize = 1'000'000'000;

GeneratedParam layerParam(uint32_t number, uint64_t width)
{
    const uint64_t quarter = width / 4;
    const std::pair<const char*, Shape> parts[kPerLayer] = {
        {"input_layernorm.weight", {width}},
        {"self_attn.q_proj.weight", {width, width}},
        {"self_attn.k_proj.weight", {quarter, width}},
        {"self_attn.v_proj.weight", {quarter, width}},
        {"self_attn.v_proj.bias", {quarter}},
        {"self_attn.o_proj.weight", {width, width}},
        {"post_attention_layernorm.weight", {width}},
        {"mlp.gate_proj.weight", {quarter * 11, width}},
        {"mlp.up_proj.weight", {quarter * 11, width}},
        {"mlp.down_proj.weight", {width, quarter * 11}},
    };
    const auto& [name, shape] = parts[number % kPerLayer];
    return {fmt::format("model.layers.{}.{}", number / kPerLayer, name), shape, 0};
}

void describeParams(const GenerateOptions& options, GeneratedModel& model)
{
    const uint64_t bytesPerElement = options.stage == 3 ? 12 : 14; // master, two moments, and the 16-bit copy
    const uint64_t wanted = options.bytes / bytesPerElement;
    const uint32_t inLayers = options.params > 2 ? options.params - 2 : 0;
    // Three quarters of the elements for the layers, the rest for the embedding.
    const double layers = std::max(1.0, static_cast<double>(inLayers) / kPerLayer);
    const double ideal = std::sqrt(0.75 * static_cast<double>(wanted) / (layers * kLayerSquares));
    const uint64_t width = std::clamp<uint64_t>(static_cast<uint64_t>(ideal) / 4 * 4, 4, 8192);

    model.params.push_back({"model.embed_tokens.weight", {1, width}, 0});
    for (uint32_t i = 0; i < inLayers; ++i)
        model.params.push_back(layerParam(i, width));
    if (options.params > 1)
        model.params.push_back({"model.norm.weight", {width}, 0});
    uint64_t others = 0;
    for (GeneratedParam& param : model.params) {
        param.elements = *elementCount(param.shape);
        others += param.elements;
    }
    GeneratedParam& embedding = model.params.front();
    const uint64_t rows = 1 + (wanted > others ? (wanted - others) / width : 0);
    embedding.shape[0] = rows;
    embedding.elements = rows * width;
}

} // namespace

Result<GeneratedModel> makeGeneratedModel(const GenerateOptions& options)
{
    GeneratedModel model;
    describeParams(options, model);
    for (const size_t dimensions : {size_t{2}, size_t{1}}) {
        std::vector<uint32_t> params;
        std::vector<uint64_t> elements;
        for (uint32_t i = 0; i < model.params.size(); ++i) {
            if (model.params[i].shape.size() == dimensions) {
                params.push_back(i);
                elements.push_back(model.params[i].elements);
            }
        }
        if (params.empty())
            continue;
        const uint32_t group = model.groups++;
        if (options.stage != 3) {
            SHARDSCOPE_TRY(auto partition, FlatPartition::contiguous(elements, options.world));
            model.units.push_back({group, params, std::move(partition)});
            continue;
        }
        const uint64_t size = options.subGroupSize != 0 ? options.subGroupSize : kDefaultSubGroupSize;
        for (const SubGroupRange& range : splitIntoSubGroups(elements, options.world, size)) {
            SHARDSCOPE_TRY(auto partition,
                FlatPartition::sliced(
                    {elements.begin() + range.begin, elements.begin() + range.end}, options.world));
            model.units.push_back(
                {group, {params.begin() + range.begin, params.begin() + range.end}, std::move(partition)});
        }
    }
    return model;
}

} // namespace shardscope::bench
