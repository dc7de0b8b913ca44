// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

#include <unordered_set>

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMaxNamed = 8;

/// Names in `param_shapes` that `module` does not have, and the number of those that it has.
struct Names {
    size_t known = 0;
    std::vector<std::string> unknown;
};

Names compareNames(const ModelStates& model)
{
    const PickleGraph& graph = *model.graph;
    std::unordered_set<std::string_view> listed;
    const auto items = mappingItems(graph, model.module);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (const auto name = asString(graph, items[i]))
            listed.insert(*name);
    }
    Names out;
    for (const NodeId group : sequenceItems(graph, model.paramShapes)) {
        const auto shapes = mappingItems(graph, group);
        for (size_t i = 0; i + 1 < shapes.size(); i += 2) {
            const auto name = asString(graph, shapes[i]);
            if (!name || parseExpertName(*name))
                continue; // experts are in separate files
            if (listed.contains(*name))
                ++out.known;
            else
                out.unknown.emplace_back(*name);
        }
    }
    return out;
}

Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    const ModelStates model = modelStates(checkpoint);
    // Experts and the layers of a pipeline are in separate files.
    if (!model.hasModule() || model.numExperts != kNoNode || !FusedExperts::of(checkpoint).isEmpty())
        return {};
    Names names = compareNames(model);
    // A model with a custom state dict has no names in common.
    if (names.unknown.empty() || names.known < names.unknown.size())
        return {};
    const size_t count = names.unknown.size();
    if (names.unknown.size() > kMaxNamed)
        names.unknown.resize(kMaxNamed);
    const auto param = checkpoint.findParam(names.unknown.front());
    sink.add(Severity::Error,
        std::to_string(count)
            + (count == 1 ? " parameter that the optimizer trains is"
                          : " parameters that the optimizer trains are")
            + " not in the model's state dict",
        param ? Place(addressOf(checkpoint, *param, "fp32")) : Place(model.file->name),
        std::move(names.unknown));
    return {};
}

} // namespace

/// The optimizer's parameters are not those of the module in the same checkpoint.
extern const Diagnosis kModelChanged;
const Diagnosis kModelChanged{
    .code = "model-changed",
    .letter = "S20",
    .name = "Optimizer and module are of different models",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Error,
    .means = {.loading = "Stock DeepSpeed stops at keys that the model expects and the file does not have, "
                         "or continues without them where load_module_strict is off.",
        .resuming = "ZeRO stores states without names: they are assigned to the parameters that the live "
                    "optimizer has at the same positions.",
        .exporting = "Masters are exported with the optimizer's names."},
    .noRemedy = "the files do not record the names of the next run's model; resume with the model that the "
                "optimizer's states belong to, or export the weights with the new names (`export --rename`)",
    .threads = "HF#10821, unslothai/unsloth#3108",
    .look = look,
};

} // namespace shardscope::diagnosis
