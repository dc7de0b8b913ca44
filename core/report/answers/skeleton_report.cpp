// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/skeleton_report.h"

#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/report/answers/check_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

#include <utility>

namespace shardscope {

namespace {

using Spellings = std::vector<std::pair<std::string, std::string>>;

std::string spelled(std::string text, const Spellings& spellings)
{
    for (const auto& [from, to] : spellings) {
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    }
    return text;
}

/// Folders of the machine and their replacements in a skeleton, the longest first.
Spellings spellingsOf(
    const CheckResult& result, const Checkpoint& checkpoint, const std::vector<io::Path>& roots)
{
    Spellings out;
    const auto add = [&](const std::string& path, const std::string& spelling) {
        if (path.size() > 1 && path.find('/') != std::string::npos) // "." and plain names reveal nothing
            out.emplace_back(path, spelling);
    };
    add(checkpoint.runFolder.string(), skeletonRunName(checkpoint));
    add(result.path, "PATH");
    for (const io::Path& root : roots) {
        add(root.string(), "ROOT");
        add(root.lexically_normal().string(), "ROOT");
    }
    std::stable_sort(
        out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    return out;
}

std::string listed(const std::vector<std::string>& keys)
{
    std::string out;
    for (const std::string& key : keys)
        out += (out.empty() ? "" : ", ") + printable(key);
    return out;
}

} // namespace

std::string skeletonCheckText(
    CheckResult result, const Checkpoint& checkpoint, const std::vector<io::Path>& roots)
{
    const Spellings spellings = spellingsOf(result, checkpoint, roots);
    const std::string asked = " " + shellQuoted(result.path);
    for (DoctorFinding& made : result.findings) {
        if (const size_t at = made.command.find(asked); at != std::string::npos)
            made.command.replace(at, asked.size(), " PATH");
        made.command = spelled(std::move(made.command), spellings);
        made.finding.message = spelled(std::move(made.finding.message), spellings);
        if (const std::string path = made.finding.where.file(); made.finding.where == Place(path))
            made.finding.where = spelled(path, spellings);
        for (std::string& fact : made.finding.evidence)
            fact = spelled(std::move(fact), spellings);
    }
    result.path = "PATH";
    result.folder = io::Path(skeletonRunName(checkpoint)) / checkpoint.tag;
    for (TierFacts& tier : result.tiers)
        tier.seconds = 0;
    std::string out;
    writeCheckJson([&](std::string_view text) { out += text; }, {result}, CheckDepth::Metadata);
    return out;
}

Result<SkeletonReport> writeCheckedSkeleton(io::FileSystem& files, const CheckpointPtr& checkpoint,
    SkeletonRequest request, const OpenOptions& open, JobContext& job)
{
    SHARDSCOPE_CHECK(checkSkeletonRequest(files, *checkpoint, request));
    CheckOptions check;
    check.open = open;
    check.opened = checkpoint;
    SHARDSCOPE_TRY(CheckResult found, examine(files, request.asked, check, job));
    SHARDSCOPE_CHECK(job.poll());
    request.checkJson = skeletonCheckText(std::move(found), *checkpoint, open.roots);
    return writeSkeleton(files, *checkpoint, request, job);
}

namespace {

void describeSkeleton(
    auto& out, const AnswerContext& context, const SkeletonReport& report, const std::string& output)
{
    out.answer("skeleton", "SkeletonAnswer", "A checkpoint without its values, for a bug report.");
    describeSubject(out, context);
    out.name("output", output, "OUT as it was given");
    out.field("files", report.files, "in the skeleton");
    out.field("bytes_before", report.bytesBefore, "of these files");
    out.field("bytes_after", report.bytesAfter, "of the skeleton");
    out.field("redacted_keys", report.redactedKeys, "of the client state, without their values");
    out.field("kept_keys", report.keptKeys, "of the client state, with their values, as requested by --keep");
    out.field("size_only", report.sizeOnly, "files that keep only their size and time");
}

} // namespace

void writeSkeletonJson(const TextSink& sink, const AnswerContext& context, const SkeletonReport& report,
    const std::string& output)
{
    writeObject(sink, [&](JsonOut& out) { describeSkeleton(out, context, report, output); });
}

std::string skeletonSchema()
{
    return schemaOf("skeleton", [](SchemaOut& out) { describeSkeleton(out, schemaContext(), {}, {}); });
}

void writeSkeletonText(
    const TextSink& sink, const TextStyle& style, const SkeletonReport& report, const std::string& output)
{
    sink(style.green("written") + "  " + printable(output) + "\n");
    TextFields fields;
    fields.add("files", formatCount(report.files));
    fields.add("bytes",
        fmt::format("{} of {} ({})", formatBytes(report.bytesAfter), formatBytes(report.bytesBefore),
            formatCount(report.bytesAfter)));
    fields.add("values", "only the optimizer's steps; for other storages, only the size");
    fields.add("client state",
        report.redactedKeys.empty() ? std::string("nothing to redact")
                                    : "redacted: " + listed(report.redactedKeys));
    if (!report.keptKeys.empty())
        fields.add("kept on request", listed(report.keptKeys));
    if (!report.sizeOnly.empty())
        fields.add("size only", formatCount(report.sizeOnly.size()) + " other files");
    fields.write(sink, style, "  ");
}

} // namespace shardscope
