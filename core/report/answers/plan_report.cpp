// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/plan_report.h"

#include "core/base/text.h"
#include "core/report/answers/compute_report.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardscope {

namespace {

constexpr size_t kPairsShown = 8;
constexpr size_t kFilesShown = 12;

void writeSizes(JsonWriter& json, const PlanContext& context, const WritePlan& plan)
{
    json.nameField("target", plan.targetName);
    json.field("reads_bytes", plan.readsBytes);
    json.field("writes_bytes", plan.writesBytes);
    json.arrayField("files");
    for (const PlannedFile& file : plan.files) {
        json.beginObject();
        json.nameField("path", file.path);
        json.field("bytes", file.bytes);
        json.endObject();
    }
    json.endArray();
    if (context.replaces) {
        json.arrayField("replaces");
        for (const std::string& path : *context.replaces)
            json.value(toValidUtf8(path));
        json.endArray();
    }
    json.field("memory_bytes", context.memoryBytes);
    json.field("free_bytes", context.freeBytes);
}

void writeReshardFacts(JsonWriter& json, const ReshardFacts& facts)
{
    json.field("sub_group_size", facts.subGroupSize);
    json.arrayField("batch");
    for (const BatchPair& pair : facts.batch) {
        json.beginObject();
        json.field("micro_batch", pair.microBatch);
        json.field("accumulation", pair.accumulation);
        json.endObject();
    }
    json.endArray();
    json.objectField("must_stay_equal");
    for (const auto& [key, value] : facts.mustStayEqual)
        json.field(key, value);
    json.endObject();
}

void writePlanObject(JsonWriter& json, const PlanContext& context, const WritePlan& plan)
{
    json.objectField("plan");
    json.field("id", plan.id);
    if (plan.exported) {
        const ExportOptions& options = plan.exported->options;
        const bool dcp = options.format == ExportFormat::Dcp;
        json.field("kind", kindName(dcp ? CheckpointKind::Dcp : CheckpointKind::Weights));
        json.field("format", exportFormatName(options.format));
        json.field("dtype", castName(options.dtype));
        json.field("tensors", static_cast<uint64_t>(plan.exported->tensors.size()));
    } else {
        json.field("kind", plan.reshard ? kindName(plan.reshard->kind) : "copy");
    }
    if (plan.reshard && !isUniversal(plan.reshard->kind))
        json.field("world_size", plan.reshard->worldSize);
    else
        json.nullField("world_size");
    writeSizes(json, context, plan);
    writeReshardFacts(json, plan.reshard ? *plan.reshard : ReshardFacts());
    writeFindings(json, "warnings", plan.warnings);
    json.endObject();
}

std::string batchText(const std::vector<BatchPair>& batch)
{
    std::string out;
    for (size_t i = 0; i < batch.size() && i < kPairsShown; ++i)
        out += fmt::format("{}{} × {}", i == 0 ? "" : ", ", batch[i].microBatch, batch[i].accumulation);
    if (batch.size() > kPairsShown)
        out += fmt::format(" and {} more", batch.size() - kPairsShown);
    return out;
}

std::string spaceText(const PlanContext& context, uint64_t writes)
{
    if (!context.freeBytes)
        return "unknown";
    return formatBytes(*context.freeBytes) + (*context.freeBytes < writes ? ", which is not enough" : "");
}

void addSizes(
    TextFields& fields, const std::string& target, const PlanContext& context, const WritePlan& plan)
{
    fields.add("target", printable(target));
    fields.add(
        "reads", fmt::format("{} ({} bytes)", formatBytes(plan.readsBytes), formatCount(plan.readsBytes)));
    fields.add("writes",
        fmt::format("{} ({} bytes) in {} files", formatBytes(plan.writesBytes), formatCount(plan.writesBytes),
            formatCount(plan.files.size())));
    fields.add("free space", spaceText(context, plan.writesBytes));
    fields.add("memory", formatBytes(context.memoryBytes) + " of payload buffers, max");
}

void writeReplacedText(const TextSink& sink, const PlanContext& context)
{
    const std::vector<std::string> replaced = context.replaces.value_or(std::vector<std::string>());
    for (size_t i = 0; i < replaced.size() && i < kFilesShown; ++i)
        sink((i == 0 ? "  replaces  " : "            ") + printable(replaced[i]) + "\n");
    if (replaced.size() > kFilesShown)
        sink(fmt::format("            and {} more files; --json lists all\n", replaced.size() - kFilesShown));
}

void writeFilesText(
    const TextSink& sink, const TextStyle& style, const PlanContext& context, const WritePlan& plan)
{
    using Align = TextTable::Align;
    TextTable table({{"file"}, {"bytes", Align::Right}});
    for (size_t i = 0; i < plan.files.size() && i < kFilesShown; ++i)
        table.add({plan.files[i].path, formatCount(plan.files[i].bytes)});
    table.write(sink, style, "  ");
    if (plan.files.size() > kFilesShown)
        sink(fmt::format("  and {} more files; --json lists all\n", plan.files.size() - kFilesShown));
    writeReplacedText(sink, context);
    writeFindingsText(sink, style, plan.warnings);
}

} // namespace

void writeResultObject(JsonWriter& json, const ExecuteReport& result)
{
    json.objectField("result");
    json.nameField("output", result.output.string());
    json.field("seconds", result.seconds);
    json.field("bytes_written", result.bytesWritten);
    json.field("bytes_reused", result.bytesReused);
    json.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, result.bytesPerSecond)));
    json.field("device", result.compute.device);
    json.field("verified", result.verified);
    json.field("was_done", result.wasDone);
    json.field("read_directly", result.readDirectly);
    json.textOrNull("fingerprint", result.fingerprint);
    json.field("fingerprint_version", static_cast<uint64_t>(kDigestVersion));
    json.field("peak_buffer_bytes", result.peakBufferBytes);
    writeCompute(json, result.compute);
    json.objectField("thread_seconds");
    for (size_t i = 0; i < kStages; ++i)
        json.field(kStageNames[i], result.stageSeconds[i]);
    json.endObject();
    json.field("processor_seconds", result.processorSeconds);
    json.objectField("bytes_per_second_of");
    for (const Stage stage : kInputOutputStages)
        json.field(kStageNames[static_cast<size_t>(stage)], static_cast<uint64_t>(result.rateOf(stage)));
    json.endObject();
    json.textOrNull("limited_by", result.limitedBy() != nullptr ? result.limitedBy() : "");
    json.endObject();
}

void writePlanJson(const TextSink& sink, const PlanContext& context, const WritePlan& plan,
    const std::optional<ExecuteReport>& result)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/" + context.verb + "/1");
    json.nameField("checkpoint", context.source);
    json.nameField("tag", context.sourceTag);
    json.nameField("destination", context.destination);
    writePlanObject(json, context, plan);
    if (!context.savedTo.empty())
        json.nameField("file", context.savedTo);
    if (result)
        writeResultObject(json, *result);
    if (context.more)
        context.more(json);
    json.endObject();
    json.finish();
    sink("\n");
}

namespace {

std::string titleOf(const WritePlan& plan)
{
    if (plan.exported)
        return fmt::format(" to {}\n", exportFormatName(plan.exported->options.format));
    if (!plan.reshard)
        return "\n";
    if (isUniversal(plan.reshard->kind))
        return " to universal\n";
    const uint32_t ranks = plan.reshard->worldSize;
    return fmt::format(" to {} for {} rank{}\n", kindName(plan.reshard->kind), ranks, ranks == 1 ? "" : "s");
}

void addReshardFacts(TextFields& fields, const ReshardFacts& facts)
{
    if (facts.subGroupSize)
        fields.add("sub-group size", formatCount(*facts.subGroupSize));
    if (!facts.batch.empty())
        fields.add("micro-batch × accumulation", batchText(facts.batch) + " keep the global batch");
    for (size_t i = 0; i < facts.mustStayEqual.size(); ++i) {
        const auto& [key, value] = facts.mustStayEqual[i];
        fields.add(i == 0 ? "must not change" : "", printable(key + " = " + value));
    }
}

std::string tensorsText(const ExportFacts& facts)
{
    const ExportOptions& options = facts.options;
    return fmt::format("{}, {}", formatCount(facts.tensors.size()),
        options.dtype                             ? "cast to " + std::string(castName(options.dtype))
            : options.format == ExportFormat::Dcp ? std::string("unchanged")
                                                  : std::string("in the model's own dtypes"));
}

} // namespace

void writePlanText(
    const TextSink& sink, const TextStyle& style, const PlanContext& context, const WritePlan& plan)
{
    const bool isCopy = !plan.exported && !plan.reshard;
    sink(style.bold(isCopy ? "copy" : plan.verb) + " " + printable(context.source) + titleOf(plan));
    TextFields fields;
    if (plan.exported)
        fields.add("tensors", tensorsText(*plan.exported));
    const std::string target
        = plan.exported ? context.destination : (io::Path(context.destination) / plan.targetName).string();
    addSizes(fields, target, context, plan);
    if (plan.reshard)
        addReshardFacts(fields, *plan.reshard);
    fields.write(sink, style, "  ");
    writeFilesText(sink, style, context, plan);
}

/// "writing (reading 3.10 GB/s, writing 1.20 GB/s; processor 40 % busy)"
std::string limitText(std::string_view stage, const ExecuteReport& report)
{
    std::string rates;
    for (const Stage each : kInputOutputStages) {
        if (report.rateOf(each) > 0)
            rates += fmt::format("{}{} {:.2f} GB/s", rates.empty() ? "" : ", ",
                kStageNames[static_cast<size_t>(each)], report.rateOf(each) / 1e9);
    }
    return fmt::format("{} ({}{}processor {:.0f} % busy)", stage, rates, rates.empty() ? "" : "; ",
        100 * report.processorShare());
}

std::string verifiedText(const ExecuteReport& report)
{
    if (!report.verified)
        return "no: --no-verify";
    const bool throughCache = !report.readDirectly && report.bytesWritten > 0;
    return std::string("yes: re-read and compared with the source")
        + (throughCache ? ", through the page cache: the file system has no direct I/O" : "");
}

void writeResultLine(const TextSink& sink, const TextStyle& style, const ExecuteReport& report)
{
    sink(style.green(report.wasDone ? "done before" : "written") + "  " + printable(report.output.string())
        + "\n");
}

void writePartObject(JsonWriter& json, const PartReport& report)
{
    json.objectField("part");
    json.field("index", uint64_t{report.part.index});
    json.field("count", uint64_t{report.part.count});
    json.field("bytes", report.bytes);
    json.field("files", report.files);
    json.field("bytes_written", report.bytesWritten);
    json.field("bytes_reused", report.bytesReused);
    json.field("seconds", report.seconds);
    json.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, report.bytesPerSecond)));
    json.field("device", report.compute.device);
    json.field("verified", report.verified);
    json.nameField("work_folder", report.workFolder.string());
    json.endObject();
}

void writePartText(const TextSink& sink, const TextStyle& style, const PartReport& report)
{
    sink(style.green("written") + fmt::format("  part {} of {}\n", report.part.index, report.part.count));
    TextFields fields;
    fields.add("bytes",
        fmt::format("{} in {:.1f} s, {}/s, in {} files", formatBytes(report.bytesWritten), report.seconds,
            formatBytes(static_cast<uint64_t>(std::max(0.0, report.bytesPerSecond))),
            formatCount(report.files)));
    if (report.bytesReused > 0)
        fields.add("kept", formatBytes(report.bytesReused) + " written by earlier runs");
    fields.add("verified", report.verified ? "yes: re-read" : "no: --no-verify");
    fields.add("arithmetic", computeText(report.compute));
    fields.add("next", "when all parts are written, run the same command with --finish");
    fields.write(sink, style, "  ");
}

void writeResultText(const TextSink& sink, const TextStyle& style, const ExecuteReport& report)
{
    writeResultLine(sink, style, report);
    if (report.wasDone) {
        sink("  an earlier run of this command wrote it, and its files have the same sizes and times since;\n"
             "  `shardscope verify` reads them again, --force writes them again\n");
        return;
    }
    TextFields fields;
    fields.add("bytes",
        fmt::format("{} in {:.1f} s, {}/s", formatBytes(report.bytesWritten), report.seconds,
            formatBytes(static_cast<uint64_t>(std::max(0.0, report.bytesPerSecond)))));
    if (report.bytesReused > 0)
        fields.add("kept", formatBytes(report.bytesReused) + " written by earlier runs");
    fields.add("verified", verifiedText(report));
    if (!report.fingerprint.empty())
        fields.add("fingerprint", report.fingerprint);
    fields.add("arithmetic", computeText(report.compute));
    if (const char* stage = report.limitedBy())
        fields.add("limited by", limitText(stage, report));
    fields.write(sink, style, "  ");
}

} // namespace shardscope
