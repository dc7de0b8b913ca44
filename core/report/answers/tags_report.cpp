// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/tags_report.h"

#include "core/base/text.h"
#include "core/report/answers/answer.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/plan_report.h"
#include "core/report/text/csv_row.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

/// "2026-11-24T22:10:05Z"; empty if no file was seen.
std::string timeText(int64_t nanoseconds)
{
    if (nanoseconds <= 0)
        return {};
    return utcTimeText(nanoseconds / 1'000'000'000);
}

std::string findingsText(const auto& tag)
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

void describe(auto& out, const TagSummary& tag)
{
    out.is("Tag", "One tag of a run.");
    out.name("tag", tag.tag);
    out.name("folder", tag.folder.string(),
        "the folder to load: the tag folder, or the numbered checkpoint that contains it");
    out.field("step", tag.steps.globalSteps, "global steps");
    out.textOrNull("modified", timeText(tag.modifiedNs), "of the newest file, UTC");
    out.field("bytes", tag.bytes);
    out.word("kind", kindName(tag.kind), kKindWords);
    out.field("parallel", tag.parallel);
    out.field("complete", tag.isComplete(),
        "every file that stock DeepSpeed needs exists with a whole header; values are not read");
    out.field("latest", tag.latest, "the pointer file names it, or it is the newest numbered checkpoint");
    out.textOrNull("fingerprint", tag.fingerprint, "from the manifest of a job of this program");
    out.field("fingerprint_version",
        tag.fingerprint.empty() ? std::nullopt : std::optional(tag.fingerprintVersion),
        kFingerprintVersionText);
    out.object(
        "findings",
        [&](auto& counts) {
            counts.is("FindingCounts", "Findings by severity, from names and headers.");
            for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Info})
                counts.field(severityName(severity), tag.count(severity));
        },
        "counts, from names and headers");
    out.maybe(true, // older programs do not write it
        [&] { out.textOrNull("why", toValidUtf8(whyIncomplete(tag)), "why it is not complete"); });
    describeError(out, tag.error, "why the tag cannot be read");
}

void describe(auto& out, const RunSummary& run)
{
    const TagSummary* complete = run.newestComplete();
    const TagSummary* shown = run.shown();
    out.is("Run", "One run in a folder of runs.");
    out.name("run", run.folder.string());
    out.name("name", run.name, "its folder, relative to the folder of runs");
    out.nameOrNull("newest_complete", complete == nullptr ? std::string() : complete->folder.string(),
        "the folder of the newest complete tag; null if none of `read` is");
    out.nameOrNull("tag", complete == nullptr ? std::string() : complete->tag,
        "the newest complete tag; null for a checkpoint without tags, too");
    out.field("step", shown == nullptr ? std::nullopt : shown->steps.globalSteps,
        "global steps of the newest complete tag, else of the newest one, as the following fields");
    out.textOrNull("modified", shown == nullptr ? std::string() : timeText(shown->modifiedNs),
        "of the newest file, UTC");
    out.field("bytes", shown == nullptr ? 0 : shown->bytes);
    out.word("kind", kindName(shown == nullptr ? CheckpointKind{} : shown->kind), kKindWords);
    out.field("ranks", shown == nullptr || shown->error ? uint64_t{0} : uint64_t{shown->parallel.ranks()},
        "0 if it is not known");
    out.field("tags", static_cast<uint64_t>(run.tags.names.size()));
    out.field("read", run.read, "the newest tags, newest first, down to the first complete one; at most 8");
    out.field("latest", run.tags.findings, "findings of the pointer file");
    out.list(
        "problems", runProblems(run),
        [](auto& each, const std::string& problem) {
            each.is("RunProblem", "What is wrong with the run, as far as listing it shows.");
            each.field("text", toValidUtf8(problem));
        },
        "in words");
    out.optional("error", run.error, "why its tags cannot be listed");
}

namespace {

void describeRuns(auto& out, const RunsAnswer& answer)
{
    out.field("runs", answer.runs, "in the order of their names");
    out.field("all_searched", !answer.folder.found.more,
        "false if not all folders below PATH were searched: then there may be more runs");
    out.field("unreadable", answer.folder.found.unreadable,
        "folders that exist and cannot be listed; each may hold a run");
    out.list(
        "links", answer.folder.found.links,
        [](auto& each, const std::string& link) {
            each.is("LinkNotFollowed", "A link that was not followed.");
            each.name("link", link);
        },
        "links are not followed");
    out.field("not_checked", kRunsNotChecked, "in words");
}

void describeTags(auto& out, const TagsAnswer& answer, const ReportHead* report)
{
    out.answer("tags", "TagsAnswer", "The tags of a run, oldest first.");
    out.name("path", answer.path, "PATH as it was given");
    describeReport(out, report);
    out.name("run", answer.run.base.string(), "the run folder; a folder of runs has `runs`, and no tags");
    out.field("tags", answer.tags, "oldest first; with --newest-complete only those that were read");
    const TagSummary* newest = answer.newestComplete();
    out.nameOrNull("newest_complete", newest == nullptr ? std::string() : newest->folder.string(),
        "the folder of the newest complete tag");
    out.maybe(answer.runs.has_value(), // a folder of runs
        [&] { describeRuns(out, answer.runs ? *answer.runs : RunsAnswer()); });
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

void writeTagsJson(const TextSink& sink, const TagsAnswer& answer, const ReportHead* report)
{
    writeObject(sink, [&](JsonOut& out) { describeTags(out, answer, report); });
}

namespace {

/// Step, time, size, kind and ranks; empty if the tag cannot be read.
std::vector<std::string> tagCells(const TagSummary* tag)
{
    if (tag == nullptr || tag->error)
        return std::vector<std::string>(5);
    return {csvNumber(tag->steps.globalSteps), timeText(tag->modifiedNs), csvNumber(tag->bytes),
        std::string(kindName(tag->kind)), csvNumber(tag->parallel.ranks())};
}

std::string joinedText(const std::vector<std::string>& texts)
{
    std::string out;
    for (const std::string& text : texts)
        out += (out.empty() ? "" : "; ") + text;
    return out;
}

} // namespace

void writeTagsCsv(const TextSink& sink, const TagsAnswer& answer, const ReportHead& head)
{
    putHeadComments(sink, head);
    const auto put = [&](std::vector<std::string> first, const std::vector<std::string>& middle,
                         const std::vector<std::string>& last) {
        first.insert(first.end(), middle.begin(), middle.end());
        first.insert(first.end(), last.begin(), last.end());
        putCsvLine(sink, first);
    };
    const std::vector<std::string> titles{"step", "modified", "bytes", "kind", "ranks"};
    if (!answer.runs) {
        put({"tag"}, titles, {"latest", "complete", "warnings", "why"});
        for (const TagSummary& tag : answer.tags)
            put({csvText(tag.tag)}, tagCells(&tag),
                {tag.latest ? "true" : "false", tag.isComplete() ? "true" : "false",
                    csvNumber(tag.count(Severity::Warning)), csvText(whyIncomplete(tag))});
        return;
    }
    put({"run", "newest_complete"}, titles, {"tags", "errors", "warnings", "problems"});
    for (const RunSummary& run : answer.runs->runs) {
        const TagSummary* complete = run.newestComplete();
        put({csvText(run.name), csvText(complete == nullptr ? std::string() : complete->tag)},
            tagCells(run.shown()),
            {csvNumber(run.tags.names.size()), csvNumber(run.count(Severity::Error)),
                csvNumber(run.count(Severity::Warning)), csvText(joinedText(runProblems(run)))});
    }
}

std::string tagsSchema()
{
    return schemaOf("tags", [](SchemaOut& out) { describeTags(out, {}, nullptr); });
}

std::vector<std::string> runProblems(const RunSummary& run)
{
    std::vector<std::string> out;
    if (run.error)
        out.push_back(describe(*run.error));
    for (const Finding& finding : run.tags.findings)
        out.push_back(finding.message);
    for (const TagSummary& tag : run.read) {
        if (!tag.isComplete())
            out.push_back(
                (tag.tag.empty() ? "it is" : tag.tag + " is") + " not complete: " + whyIncomplete(tag));
    }
    if (run.newestComplete() == nullptr && run.unread() > 0)
        out.push_back(fmt::format("the {} older tags were not read", formatCount(run.unread())));
    return out;
}

namespace {

constexpr size_t kShownPaths = 5;

void writeRunsNotes(const TextSink& sink, const RunsAnswer& answer)
{
    const FoundRuns& found = answer.folder.found;
    for (const RunSummary& run : answer.runs) {
        for (const std::string& problem : runProblems(run))
            sink(printable(run.name) + ": " + printable(problem) + "\n");
    }
    for (const Error& error : found.unreadable)
        sink("not searched: " + printable(describe(error)) + "\n");
    for (size_t i = 0; i < found.links.size() && i < kShownPaths; ++i)
        sink("a link is not followed: " + printable(found.links[i]) + "\n");
    if (found.links.size() > kShownPaths)
        sink(fmt::format("and {} more links\n", formatCount(found.links.size() - kShownPaths)));
    if (found.more)
        sink("Not all folders below this one were searched: there may be more runs.\n");
    sink(std::string(kRunsNotChecked) + " `shardscope check` reads them.\n");
}

/// Any number of ranks loads a universal folder.
std::string ranksText(const TagSummary& tag)
{
    return isUniversal(tag.kind) ? "-" : formatCount(tag.parallel.ranks());
}

void writeRunsText(const TextSink& sink, const TextStyle& style, const RunsAnswer& answer)
{
    using Align = TextTable::Align;
    TextTable table({{"run"}, {"newest complete tag"}, {"step", Align::Right}, {"modified"},
        {"size", Align::Right}, {"kind"}, {"ranks", Align::Right}, {"tags", Align::Right}, {"findings"}});
    for (const RunSummary& run : answer.runs) {
        const TagSummary* complete = run.newestComplete();
        const TagSummary* tag = run.shown();
        if (tag == nullptr || tag->error) {
            table.add({run.name, "none", "-", "-", "-", "-", "-", formatCount(run.tags.names.size()),
                run.error ? run.error->message : "error"});
            continue;
        }
        const std::string modified = timeText(tag->modifiedNs);
        table.add({run.name,
            complete == nullptr         ? "none"
                : complete->tag.empty() ? "no tags"
                                        : complete->tag + (complete->latest ? " (latest)" : ""),
            tag->steps.globalSteps ? formatCount(static_cast<uint64_t>(*tag->steps.globalSteps)) : "-",
            modified.empty() ? "-" : modified, formatBytes(tag->bytes), std::string(kindName(tag->kind)),
            ranksText(*tag), formatCount(run.tags.names.size()), findingsText(run)});
    }
    table.write(sink, style, "");
    writeRunsNotes(sink, answer);
}

} // namespace

void writeTagsText(const TextSink& sink, const TextStyle& style, const TagsAnswer& answer)
{
    if (answer.runs)
        return writeRunsText(sink, style, *answer.runs);
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
                ranksText(tag), tag.isComplete() ? "yes" : "no", findingsText(tag)});
    }
    table.write(sink, style, "");
    const TagSummary* newest = answer.newestComplete();
    if (newest == nullptr)
        sink("No tag is complete. `shardscope check` says what is wrong, and `shardscope repair` repairs "
             "it.\n");
    else
        sink("newest complete: " + printable(newest->folder.string()) + "\n");
}

namespace {

void describeEnsure(auto& out, const std::string& path, uint32_t worldSize, const EnsureResult& result)
{
    const TagSummary* tag = result.tag ? &*result.tag : nullptr;
    out.answer("ensure", "EnsureAnswer", "The folder that a number of ranks can load.");
    out.name("path", path, "PATH as it was given");
    out.name("run", result.run.base.string(), "the run folder, or the framework's output folder");
    out.field("world_size", worldSize, atLeast(1));
    out.nameOrNull("folder", tag == nullptr ? std::string() : result.folder.string(),
        "what to load; null without a complete tag");
    out.nameOrNull("tag", tag == nullptr ? std::string() : tag->tag);
    out.field("step", tag == nullptr ? std::nullopt : tag->steps.globalSteps, "global steps of the tag");
    out.wordOrNull("how", tag == nullptr ? std::string_view() : ensureHowName(result.how),
        wordsOf<EnsureHow>(ensureHowName), "the run itself loads; a copy was there; it was made");
    out.field("verified", result.verified, "every byte of the folder was read and compared by this call");
    out.field("waited", result.waited, "for another process that makes the same copy");
    out.field("marks", result.marks, "parts of the tag that no run saved");
    out.field("warnings", result.warnings,
        "what the copy changes for the run, as reshard warns of it; empty where the run itself loads");
    out.list(
        "passed_over", result.passedOver,
        [](auto& each, const TagSummary& passed) {
            each.is("PassedOver", "A newer tag that cannot be used.");
            each.name("tag", passed.tag);
            each.field("why", toValidUtf8(whyIncomplete(passed)));
        },
        "newer tags that cannot be used");
    out.list(
        "removed", result.removed,
        [](auto& each, const io::Path& removed) {
            each.is("RemovedCopy", "An older copy that was removed.");
            each.name("folder", removed.string());
        },
        "older copies");
    out.list(
        "kept", result.kept,
        [](auto& each, const auto& kept) {
            each.is("KeptCopy", "An older copy that was not removed.");
            each.name("folder", kept.first.string());
            each.field("why", toValidUtf8(kept.second));
        },
        "older copies that were not removed");
    out.optional("result", result.report);
}

} // namespace

void writeEnsureJson(
    const TextSink& sink, const std::string& path, uint32_t worldSize, const EnsureResult& result)
{
    writeObject(sink, [&](JsonOut& out) { describeEnsure(out, path, worldSize, result); });
}

std::string ensureSchema()
{
    return schemaOf("ensure", [](SchemaOut& out) { describeEnsure(out, {}, 0, {}); });
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
