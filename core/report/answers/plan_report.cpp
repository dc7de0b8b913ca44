// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/plan_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

namespace shardscope {

namespace {

constexpr size_t kPairsShown = 8;
constexpr size_t kFilesShown = 12;

void describeExport(auto& out, const ExportFacts& exported)
{
    std::vector<std::string> casts = castNames();
    casts.emplace_back("keep");
    out.word("format", exportFormatName(exported.options.format),
        kExportFormats | std::views::transform(&ExportFormatTraits::name),
        "of an export: the form of its files");
    out.word("dtype", castName(exported.options.dtype), casts, "of an export: what its weights are cast to");
    out.field("tensors", exported.tensors.size(),
        atLeast(1, "of an export: the number of tensors that are written"));
}

std::string_view kindOf(const WritePlan& plan)
{
    if (plan.exported) {
        const bool dcp = plan.exported->options.format == ExportFormat::Dcp;
        return kindName(dcp ? CheckpointKind::Dcp : CheckpointKind::Weights);
    }
    return plan.reshard ? kindName(plan.reshard->kind) : "copy";
}

} // namespace

void describe(auto& out, const PlannedFile& file)
{
    out.is("PlannedFile", "A file to be written.");
    out.name("path", file.path);
    out.field("bytes", file.bytes);
}

void describe(auto& out, const BatchPair& pair)
{
    out.is("Batch", "A pair that keeps the global batch size.");
    out.field("micro_batch", pair.microBatch);
    out.field("accumulation", pair.accumulation);
}

void describe(auto& out, const PartReport& report)
{
    out.is("PartResult", "What a run wrote of one part of a job.");
    out.field("index", report.part.index);
    out.field("count", report.part.count, atLeast(1));
    out.field("bytes", report.bytes, "of the part");
    out.field("files", report.files);
    out.field("bytes_written", report.bytesWritten, "by this run");
    out.field("bytes_reused", report.bytesReused);
    out.field("seconds", report.seconds, atLeast(0));
    out.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, report.bytesPerSecond)));
    out.field("device", report.compute.device);
    out.field("verified", report.verified, "everything that was written was read back");
    out.name("work_folder", report.workFolder.string());
}

namespace {

void describePlan(auto& out, const PlanContext& context, const WritePlan& plan)
{
    const ReshardFacts reshard = plan.reshard ? *plan.reshard : ReshardFacts();
    const bool hasRanks = plan.reshard && !isUniversal(reshard.kind);
    const auto exported = [&] { describeExport(out, plan.exported ? *plan.exported : ExportFacts()); };
    std::vector<std::string_view> kinds{"copy"};
    std::ranges::copy(kKindWords, std::back_inserter(kinds));
    std::vector<std::string> replaces;
    for (const std::string& path : context.replaces.value_or(replaces))
        replaces.push_back(toValidUtf8(path));
    out.is("Plan", "What will be written.");
    out.field("id", plan.id);
    out.word("kind", kindOf(plan), kinds, "what is written");
    if (context.verb == "export")
        exported();
    else if (context.verb != "reshard" && context.verb != "repair")
        out.maybe(plan.exported != nullptr, exported);
    out.field("world_size", hasRanks ? std::optional(reshard.worldSize) : std::nullopt);
    out.name("target", plan.targetName);
    out.field("reads_bytes", plan.readsBytes);
    out.field("writes_bytes", plan.writesBytes);
    out.field("files", plan.files);
    out.maybe(context.replaces.has_value(), [&] {
        out.field("replaces", replaces,
            "files of the target, relative to it, that the job replaces or removes; with --force only");
    });
    out.field("memory_bytes", context.memoryBytes);
    out.field("free_bytes", context.freeBytes);
    out.field("sub_group_size", reshard.subGroupSize);
    out.field("batch", reshard.batch);
    out.field("must_stay_equal", reshard.mustStayEqual);
    out.field("warnings", plan.warnings);
}

/// What a repair has besides. A saved plan was not run.
void describeRepair(auto& out, const PlanContext& context, const WritePlan& plan)
{
    const RepairFacts facts = plan.repair ? *plan.repair : RepairFacts();
    out.field("fixed", facts.fixed, "codes of the findings that are repaired");
    out.field("changes", facts.changes);
    if (context.verb == "plan")
        return;
    const RepairOutcome outcome = context.repaired ? context.repaired() : RepairOutcome();
    out.optional("check", outcome.check, "of what was written");
    out.optional("checked_again", outcome.checkedAgain,
        "false when the check of the output was stopped; the output is then complete, but not checked");
}

void describeAnswer(
    auto& out, const PlanContext& context, const WritePlan& plan, const std::optional<ExecuteReport>& result)
{
    const bool saves = context.verb == "plan";
    out.answer(context.verb, saves ? "PlanAnswer" : "WriteAnswer",
        saves ? "A plan that was saved to `file`." : "A plan and, unless `dry_run`, its result.");
    out.name("checkpoint", context.source);
    out.name("tag", context.sourceTag);
    out.name("destination", context.destination);
    out.object("plan", [&](auto& object) { describePlan(object, context, plan); });
    if (saves) {
        out.name("file", context.savedTo);
    } else {
        out.optional("result", result);
        out.optional("part", context.part, "with --part: what this run wrote of one part");
    }
    if (saves || context.verb == "run" || context.verb == "repair")
        out.maybe(plan.repair != nullptr && !context.part, [&] { describeRepair(out, context, plan); });
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

void writePlanJson(const TextSink& sink, const PlanContext& context, const WritePlan& plan,
    const std::optional<ExecuteReport>& result)
{
    writeObject(sink, [&](JsonOut& out) { describeAnswer(out, context, plan, result); });
}

std::string planSchema(std::string_view verb)
{
    const PlanContext context{.verb = std::string(verb)};
    return schemaOf(verb, [&](SchemaOut& out) { describeAnswer(out, context, {}, {}); });
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
