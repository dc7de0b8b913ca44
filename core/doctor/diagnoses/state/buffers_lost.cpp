// SPDX-License-Identifier: Apache-2.0

// Room core/doctor/diagnoses/state: diagnoses of parameters, optimizer state and options, each in its own
// file. It uses core/doctor, core/compare/diff, core/layout, core/checkpoint and lower rooms. Start with
// Diagnosis, and with this file as an example.

#include "core/base/text.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/saved_facts.h"

namespace shardscope::diagnosis {

namespace {

/// `buffer_names` lists persistent buffers only (runtime/engine.py, _get_buffer_names), and the module's
/// state dict has all of them. A pipeline's module is in layer files.
Status look(const CheckContext& context, FindingSink& sink)
{
    if (!context.hasModel())
        return {};
    const ModelStates model = modelStates(*context.checkpoint);
    if (!model.hasModule())
        return {};
    for (const NodeId item : sequenceItems(*model.graph, model.bufferNames)) {
        const auto name = asString(*model.graph, item);
        // Readers know the buffers that exist; searching the module for each one is slow.
        if (name && !context.checkpoint->findParam(*name)
            && lookup(*model.graph, model.module, *name) == kNoNode)
            sink.add(Severity::Warning, "the file lists this buffer but does not contain it",
                ParamAddress{std::string(*name), "weight"},
                {"`buffer_names` of `" + model.file->name + "` lists it, `module` does not have it"});
    }
    return {};
}

} // namespace

/// Persistent buffers that are listed but not stored.
extern const Diagnosis kBuffersLost;
const Diagnosis kBuffersLost{
    .code = "buffers-lost",
    .letter = "S10",
    .name = "Buffers are lost",
    .depth = CheckDepth::Metadata,
    .worst = Severity::Warning,
    .means = {.loading = "Stock DeepSpeed stops at the missing key, or keeps the new model's buffer where "
                         "load_module_strict is off.",
        .resuming = "Running statistics, masks or caches are those of a new model.",
        .exporting = "The buffers are missing, silently."},
    .remedy = "take them from another tag of the run, or from the model's weights (`--from`)",
    .repairs = true,
    .threads = "DS#1101, DS#1146, DS#1062",
    .look = look,
};

} // namespace shardscope::diagnosis
