// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/layout/counts.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/inspect_report.h"
#include "core/report/text/printable.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

std::string kindText(const Checkpoint& checkpoint)
{
    return std::string(traitsOf(checkpoint.kind).title);
}

std::string headline(const Checkpoint& checkpoint)
{
    if (isUnknown(checkpoint.kind) && checkpoint.files.empty())
        return {}; // nothing was read
    std::string out = kindText(checkpoint);
    if (!checkpoint.precision.empty())
        out += ", " + checkpoint.precision;
    const ParallelDegrees& p = checkpoint.parallel;
    if (!isUniversal(checkpoint.kind)) // any number of ranks loads it
        out += fmt::format(", {} rank{}", p.ranks(), p.ranks() == 1 ? "" : "s");
    if (p.tp > 1 || p.pp > 1 || p.ep > 1)
        out += fmt::format(" (dp {}, tp {}, pp {}, ep {})", p.dp, p.tp, p.pp, p.ep);
    return out;
}

std::string parameterText(const Checkpoint& checkpoint)
{
    const ParameterCounts counts = countParameters(checkpoint);
    std::string out
        = fmt::format("{} with {} elements", formatCount(counts.count), formatCount(counts.elements));
    const auto add = [&](uint64_t count, std::string_view what) {
        if (count > 0)
            out += fmt::format(", {} {}", formatCount(count), what);
    };
    add(counts.frozen, "frozen");
    if (counts.trainable > 0)
        add(counts.unrecorded, "not in the optimizer");
    add(counts.shared, "shared");
    add(counts.buffers, counts.buffers == 1 ? "buffer" : "buffers");
    if (checkpoint.parallel.tp > 1)
        out += fmt::format("; each of {} tensor slices counts", checkpoint.parallel.tp);
    return out;
}

std::string stepText(const StepCounters& steps)
{
    if (!steps.globalSteps)
        return "unknown";
    std::string out = std::to_string(*steps.globalSteps);
    if (steps.globalSamples)
        out += fmt::format(", {} samples", *steps.globalSamples);
    if (steps.skippedSteps.value_or(0) > 0)
        out += fmt::format(", {} skipped", *steps.skippedSteps);
    return out;
}

std::string joined(const std::vector<std::string>& texts)
{
    std::string out;
    for (const std::string& text : texts)
        out += (out.empty() ? "" : ", ") + printable(text);
    return out;
}

/// "lr 0.001, betas [0.9, 0.95], weight_decay 0.1": the options of a group that have a short text.
std::string optionText(const Checkpoint& checkpoint, const ParamGroup& group)
{
    if (checkpoint.templateOptim == kNoFile || group.options == kNoNode)
        return {};
    const TorchFile* file = checkpoint.file(checkpoint.templateOptim).content.get();
    if (file == nullptr)
        return {};
    std::string out;
    const auto items = mappingItems(file->pickle(), group.options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(file->pickle(), items[i]);
        const NodeId value = items[i + 1];
        // Options that are off or not set are left out: they would hide those that differ between groups.
        // --json has all.
        const bool off
            = file->pickle().kind(value) == NodeKind::None || asBool(file->pickle(), value) == false;
        if (!name || *name == "params" || off)
            continue;
        out += (out.empty() ? "" : ", ") + printable(*name) + " "
            + printable(nodeText(file->pickle(), value, 40));
    }
    return out;
}

void writeGroupTable(const TextSink& sink, const TextStyle& style, const Checkpoint& checkpoint)
{
    if (checkpoint.groups.empty())
        return;
    using Align = TextTable::Align;
    TextTable table(
        {{"group", Align::Right}, {"parameters", Align::Right}, {"elements", Align::Right}, {"options"}});
    for (const ParamGroup& group : checkpoint.groups)
        table.add({std::to_string(group.index), formatCount(group.parameters), formatCount(group.elements),
            optionText(checkpoint, group)});
    sink("\n");
    table.write(sink, style);
}

} // namespace

void writeInspectText(const TextSink& sink, const TextStyle& style, const AnswerContext& context)
{
    const Checkpoint& checkpoint = context.checkpoint;
    const std::string name = checkpoint.tag.empty() ? "no tag chosen" : printable(checkpoint.tag);
    const std::string what = headline(checkpoint);
    sink(style.bold(name) + (what.empty() ? "" : "  ") + what + "\n");
    TextFields fields;
    fields.add("checkpoint", printable(checkpointFolder(checkpoint)));
    if (!context.selectedFile.empty())
        fields.add("selected", printable(context.selectedFile));
    if (!checkpoint.tags.empty())
        fields.add("tags",
            joined(checkpoint.tags)
                + (checkpoint.latest ? " (latest: " + printable(*checkpoint.latest) + ")" : ""));
    if (!checkpoint.supported)
        fields.addStyled("supported", style.yellow("no: ") + printable(checkpoint.whyNot));
    if (!checkpoint.params.empty())
        fields.add("parameters", parameterText(checkpoint));
    if (const auto states = checkpoint.stateNames(); !states.empty())
        fields.add("states", joined(states));
    fields.add("step", stepText(checkpoint.steps));
    if (checkpoint.lossScale)
        fields.add("loss scale", fmt::format("{}", *checkpoint.lossScale));
    if (checkpoint.zeroStage == 3 && checkpoint.subGroupSize)
        fields.add("sub-group size", formatCount(*checkpoint.subGroupSize));
    if (!checkpoint.deepspeedVersion.empty())
        fields.add("DeepSpeed", printable(checkpoint.deepspeedVersion));
    if (!checkpoint.wrapper.empty())
        fields.add("wrapper", checkpoint.wrapper);
    if (!checkpoint.clientStateKeys.empty())
        fields.add("client state", joined(checkpoint.clientStateKeys));
    const FileCounts files = countFiles(checkpoint);
    fields.add("files",
        fmt::format("{}, {} ({} bytes)", formatCount(files.count), formatBytes(files.bytes),
            formatCount(files.bytes)));
    for (size_t i = 0; i < checkpoint.evidence.size(); ++i)
        fields.add(i == 0 ? "because" : "", printable(checkpoint.evidence[i]));
    fields.add("findings", findingCountText(checkpoint.findings));
    fields.write(sink, style, "  ");
    writeGroupTable(sink, style, checkpoint);
    if (!checkpoint.findings.empty())
        sink("\n");
    writeFindingsText(sink, style, checkpoint.findings);
}

} // namespace shardscope
