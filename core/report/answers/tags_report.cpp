// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/tags_report.h"

#include "core/base/text.h"
#include "core/report/answers/answer.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/plan_report.h"
#include "core/report/text/printable.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace shardscope {

namespace {

/// "2026-11-24T22:10:05Z"; empty if no file was seen.
std::string timeText(int64_t nanoseconds)
{
    if (nanoseconds <= 0)
        return {};
    const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

void writeCounts(JsonWriter& json, const TagSummary& tag)
{
    json.objectField("findings");
    for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Info})
        json.field(severityName(severity), tag.count(severity));
    json.endObject();
}

void writeTag(JsonWriter& json, const TagSummary& tag)
{
    json.beginObject();
    json.nameField("tag", tag.tag);
    json.nameField("folder", tag.folder.string());
    json.field("step", tag.steps.globalSteps);
    json.textOrNull("modified", timeText(tag.modifiedNs));
    json.field("bytes", tag.bytes);
    json.field("kind", kindName(tag.kind));
    writeParallel(json, tag.parallel);
    json.field("complete", tag.isComplete());
    json.field("latest", tag.latest);
    json.textOrNull("fingerprint", tag.fingerprint);
    json.field("fingerprint_version",
        tag.fingerprint.empty() ? std::nullopt : std::optional(tag.fingerprintVersion));
    writeCounts(json, tag);
    json.textOrNull("why", toValidUtf8(whyIncomplete(tag)));
    if (tag.error) {
        json.objectField("error");
        writeErrorFields(json, *tag.error);
        json.endObject();
    }
    json.endObject();
}

std::string findingsText(const TagSummary& tag)
{
    std::string out;
    for (const auto& [severity, one, many] : {std::tuple(Severity::Error, "error", "errors"),
             std::tuple(Severity::Warning, "warning", "warnings")}) {
        const size_t count = tag.count(severity);
        if (count > 0)
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, count == 1 ? one : many);
    }
    return out.empty() ? "-" : out;
}

} // namespace

const TagSummary* TagsAnswer::newestComplete() const
{
    for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
        if (tag->isComplete() && tag->confirmed)
            return &*tag;
    }
    return nullptr;
}

std::string whyIncomplete(const TagSummary& tag)
{
    if (tag.error)
        return describe(*tag.error);
    for (const DoctorFinding& made : tag.findings) {
        if (made.finding.severity == Severity::Error)
            return made.finding.message
                + (made.finding.where.isEmpty() ? "" : ": " + made.finding.where.text());
    }
    return {};
}

void writeTagsJson(const TextSink& sink, const TagsAnswer& answer)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/tags/1");
    json.nameField("path", answer.path);
    json.nameField("run", answer.run.base.string());
    json.arrayField("tags");
    for (const TagSummary& tag : answer.tags)
        writeTag(json, tag);
    json.endArray();
    const TagSummary* newest = answer.newestComplete();
    if (newest == nullptr)
        json.nullField("newest_complete");
    else
        json.nameField("newest_complete", newest->folder.string());
    json.endObject();
    json.finish();
    sink("\n");
}

void writeTagsText(const TextSink& sink, const TextStyle& style, const TagsAnswer& answer)
{
    using Align = TextTable::Align;
    TextTable table({{"tag"}, {"step", Align::Right}, {"modified"}, {"size", Align::Right}, {"kind"},
        {"ranks", Align::Right}, {"complete"}, {"findings"}});
    for (const TagSummary& tag : answer.tags) {
        const std::string name = printable(tag.tag) + (tag.latest ? " (latest)" : "");
        if (tag.error) {
            table.add({name, "-", "-", "-", "-", "-", "no", printable(tag.error->message)});
            continue;
        }
        const std::string modified = timeText(tag.modifiedNs);
        table.add(
            {name, tag.steps.globalSteps ? formatCount(static_cast<uint64_t>(*tag.steps.globalSteps)) : "-",
                modified.empty() ? "-" : modified, formatBytes(tag.bytes), std::string(kindName(tag.kind)),
                formatCount(tag.parallel.ranks()), tag.isComplete() ? "yes" : "no", findingsText(tag)});
    }
    table.write(sink, style, "");
    const TagSummary* newest = answer.newestComplete();
    if (newest == nullptr)
        sink("No tag is complete. `shardscope check` says what is wrong, and `shardscope repair` repairs "
             "it.\n");
    else
        sink("newest complete: " + printable(newest->folder.string()) + "\n");
}

void writeEnsureJson(
    const TextSink& sink, const std::string& path, uint32_t worldSize, const EnsureResult& result)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/ensure/1");
    json.nameField("path", path);
    json.nameField("run", result.run.base.string());
    json.field("world_size", static_cast<uint64_t>(worldSize));
    if (result.tag) {
        json.nameField("folder", result.folder.string());
        json.nameField("tag", result.tag->tag);
        json.field("step", result.tag->steps.globalSteps);
        json.field("how", ensureHowName(result.how));
    } else {
        json.nullField("folder");
        json.nullField("tag");
        json.nullField("step");
        json.nullField("how");
    }
    json.field("verified", result.verified);
    json.field("waited", result.waited);
    writeFindings(json, "marks", result.marks);
    writeFindings(json, "warnings", result.warnings);
    json.arrayField("passed_over");
    for (const TagSummary& tag : result.passedOver) {
        json.beginObject();
        json.nameField("tag", tag.tag);
        json.field("why", toValidUtf8(whyIncomplete(tag)));
        json.endObject();
    }
    json.endArray();
    json.arrayField("removed");
    for (const io::Path& removed : result.removed) {
        json.beginObject();
        json.nameField("folder", removed.string());
        json.endObject();
    }
    json.endArray();
    json.arrayField("kept");
    for (const auto& [folder, why] : result.kept) {
        json.beginObject();
        json.nameField("folder", folder.string());
        json.field("why", toValidUtf8(why));
        json.endObject();
    }
    json.endArray();
    if (result.report)
        writeResultObject(json, *result.report);
    json.endObject();
    json.finish();
    sink("\n");
}

std::string noTagText(const RunTags& run)
{
    const std::string folder = printable(run.base.string());
    return run.names.empty() ? "nothing has been saved in " + folder + " yet"
                             : "no tag of " + folder + " is complete";
}

std::string noUsableTagText(const std::vector<TagSummary>& passedOver)
{
    constexpr size_t kShown = 3;
    std::string out = "no tag of this run can be used";
    for (size_t i = 0; i < passedOver.size() && i < kShown; ++i)
        out += (i == 0 ? ": " : "; ") + toValidUtf8(passedOver[i].tag) + ": "
            + toValidUtf8(whyIncomplete(passedOver[i]));
    if (passedOver.size() > kShown)
        out += "; and " + formatCount(passedOver.size() - kShown) + " more";
    return out;
}

std::string ensureMarksText(const TagSummary& tag, const std::vector<Finding>& marks)
{
    constexpr size_t kShown = 3;
    std::string out = fmt::format("warning: {} is marked: {} of it no run saved\n", printable(tag.tag),
        marks.size() == 1 ? "a part" : fmt::format("{} parts", formatCount(marks.size())));
    for (size_t i = 0; i < marks.size() && i < kShown; ++i)
        out += "  " + printable(marks[i].message) + "\n";
    if (marks.size() > kShown)
        out += "  `shardscope inspect` lists all of them\n";
    return out;
}

std::string ensureNotes(const EnsureResult& result)
{
    std::string out;
    for (const TagSummary& tag : result.passedOver)
        out += "passed over " + printable(tag.folder.string()) + ": " + printable(whyIncomplete(tag)) + "\n";
    if (!result.tag)
        return out + noTagText(result.run) + "\n";
    const std::string tag = printable(result.tag->tag);
    switch (result.how) {
    case EnsureHow::Fits:
        out += tag + " fits as it is\n";
        break;
    case EnsureHow::Found:
        out += result.waited  ? "another process has made a copy of " + tag + "\n"
            : result.verified ? "a copy of " + tag + " is there already, and every byte was read\n"
                              : "a copy of " + tag
                + " is there already; names, sizes and times of its files were checked (--verify reads it)\n";
        break;
    case EnsureHow::Made:
        out += fmt::format("made a copy of {}: {} in {:.1f} s\n", tag,
            formatBytes(result.report ? result.report->bytesWritten : 0),
            result.report ? result.report->seconds : 0);
        break;
    }
    for (const io::Path& removed : result.removed)
        out += "removed " + printable(removed.string()) + "\n";
    for (const auto& [folder, why] : result.kept)
        out += "not removed: " + printable(folder.string()) + ": " + printable(why) + "\n";
    return out;
}

} // namespace shardscope
