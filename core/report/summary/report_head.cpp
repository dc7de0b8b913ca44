// SPDX-License-Identifier: Apache-2.0
#include "core/report/summary/report_head.h"

#include "core/base/text.h"
#include "core/engine/verify/run_tags.h"
#include "core/layout/counts.h"
#include "core/report/text/printable.h"

#include <fmt/chrono.h>

#include <ctime>

namespace shardscope {

CheckpointIdentity identityOf(io::FileSystem& files, const Checkpoint& checkpoint, const io::Path& path)
{
    CheckpointIdentity out;
    out.path = path.native();
    out.folder = (checkpoint.tagFolder.empty() ? checkpoint.runFolder : checkpoint.tagFolder).native();
    out.tag = checkpoint.tag;
    out.kind = checkpoint.kind;
    out.precision = checkpoint.precision;
    out.deepspeed = checkpoint.deepspeedVersion;
    if (!isUniversal(checkpoint.kind) && !isUnknown(checkpoint.kind))
        out.ranks = checkpoint.parallel.ranks();
    out.step = checkpoint.steps.globalSteps;
    if (const ParameterCounts counts = countParameters(checkpoint); counts.count > 0) {
        out.parameters = counts.count;
        out.elements = counts.elements;
    }
    const FileCounts counts = countFiles(checkpoint);
    out.files = counts.count;
    out.bytes = counts.bytes;
    if (!checkpoint.tagFolder.empty()) {
        const auto recorded = recordedFingerprint(files, checkpoint.tagFolder);
        if (!recorded) {
            out.fingerprintError = toValidUtf8(recorded.error().message); // it may quote the file
        } else if (!recorded->first.empty()) {
            out.fingerprint = recorded->first;
            out.fingerprintVersion = recorded->second;
        }
    }
    return out;
}

ReportHead reportHead(std::string command)
{
    return {utcTimeText(std::time(nullptr)), std::move(command), {}, {}};
}

std::string utcTimeText(int64_t seconds)
{
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::vector<ReportFact> factsOf(const ReportHead& head)
{
    std::vector<ReportFact> out;
    out.push_back({"Written by",
        "Shardscope " + std::string(buildInfo().version) + " (" + std::string(buildInfo().commit) + ")"});
    for (ReportFact fact : {ReportFact{"Time", head.time}, ReportFact{"Command", head.command, true},
             ReportFact{"Filter", head.filter, true}}) {
        if (!fact.text.empty())
            out.push_back(std::move(fact));
    }
    return out;
}

std::vector<ReportFact> factsOf(const CheckpointIdentity& about)
{
    std::vector<ReportFact> out;
    const auto add = [&](std::string_view name, std::string text, bool isCode = false) {
        if (!text.empty())
            out.push_back({name, std::move(text), isCode});
    };
    add("Tag", about.tag, true);
    if (about.folder.empty())
        return out;
    std::string kind(traitsOf(about.kind).title);
    if (about.ranks)
        kind += ", " + formatCount(*about.ranks) + (*about.ranks == 1 ? " rank" : " ranks");
    add("Kind", kind + (about.precision.empty() ? "" : ", " + about.precision));
    add("DeepSpeed", about.deepspeed);
    if (about.step)
        add("Step", std::to_string(*about.step));
    if (about.parameters)
        add("Parameters",
            formatCount(*about.parameters) + " with " + formatCount(about.elements.value_or(0))
                + " elements");
    if (about.files)
        add("Files", formatCount(*about.files) + ", " + formatCount(about.bytes.value_or(0)) + " bytes");
    constexpr std::string_view kFingerprint = "Fingerprint when written";
    if (!about.fingerprintError.empty())
        add(kFingerprint, "cannot be read: " + about.fingerprintError);
    else if (!about.fingerprint.empty())
        add(kFingerprint,
            about.fingerprint + " (version " + std::to_string(about.fingerprintVersion.value_or(0)) + ")");
    return out;
}

std::vector<std::string> headLines(const ReportHead& head)
{
    std::vector<std::string> out;
    const auto add = [&](std::string_view name, std::string_view text) {
        out.push_back(std::string(name) + ": " + printable(text));
    };
    for (const ReportFact& fact : factsOf(head))
        add(fact.name, fact.text);
    for (const CheckpointIdentity& about : head.about) {
        add("Checkpoint", about.path);
        for (const ReportFact& fact : factsOf(about))
            add(fact.name, fact.text);
    }
    return out;
}

void putHeadComments(const TextSink& sink, const ReportHead& head)
{
    for (const std::string& line : headLines(head))
        sink("# " + line + "\n");
}

} // namespace shardscope
