// SPDX-License-Identifier: Apache-2.0
#include "core/report/jobs/jobs_report.h"

#include "core/base/shell_quote.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "core/report/summary/report_head.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace shardscope {

namespace {

constexpr size_t kLongestText = size_t{64} << 10; ///< that is taken from others
constexpr double kLongestSeconds = 1e9;

} // namespace

void describe(auto& out, ConstOr<Progress> auto& progress)
{
    out.is("Progress", "How far a job is. `eta_seconds` is None while it is not known.");
    out.field("phase", progress.phase);
    out.field("bytes_done", progress.bytesDone);
    out.field("bytes_total", progress.bytesTotal, "0 if unknown");
    auto rate = static_cast<uint64_t>(std::max(0.0, progress.bytesPerSecond));
    out.field("bytes_per_second", rate);
    auto left = progress.etaSeconds < 0 ? std::nullopt : std::optional(progress.etaSeconds);
    out.field("eta_seconds", left, finite());
    if constexpr (kReads<decltype(out)>) {
        progress.bytesPerSecond = static_cast<double>(rate);
        progress.etaSeconds
            = left && std::isfinite(*left) && *left >= 0 ? std::min(*left, kLongestSeconds) : -1;
        if (progress.bytesTotal > 0)
            progress.bytesDone = std::min(progress.bytesDone, progress.bytesTotal);
        if (progress.phase.size() > kLongestText)
            out.refuse("phase", "is too long");
    }
}

void describe(auto& out, ConstOr<DetachedJob> auto& job)
{
    out.is("DetachedJob", "A command that runs, or ran, as a process of its own.");
    out.field("id", job.id, "for --attach, --stop, --resume and --forget");
    out.word("state", job.state, jobs::stateName,
        "interrupted: it was stopped, or its process has ended without an answer; the same command "
        "continues it. elsewhere: started on another machine with the same home folder");
    out.name("command", job.command, "for a shell of its machine");
    out.nameOrNull("target", job.target, "what it writes; null where the command names no folder for it");
    out.name("machine", job.machine);
    out.field("started", job.started, "UTC; its last start");
    out.textOrNull("ended", job.ended, "UTC");
    out.field("exit", job.exit, "its exit status");
    out.field("json", job.json, "whether its answer is JSON");
    out.field("progress", job.progress, "the last that it reported");
    if constexpr (kReads<decltype(out)>) {
        if (!jobs::JobStore::isId(job.id))
            out.refuse("id", "is not the id of a job");
        for (const auto& [name, text] : {std::pair("command", &job.command), std::pair("target", &job.target),
                 std::pair("machine", &job.machine), std::pair("started", &job.started),
                 std::pair("ended", &job.ended)}) {
            if (text->size() > kLongestText)
                out.refuse(name, "is too long");
        }
    }
}

namespace {

/// Words that would make it longer than a reader takes are left out.
std::string commandOf(const jobs::JobRecord& record)
{
    constexpr std::string_view kMore = " ...";
    std::string out = "shardscope";
    for (const std::string& word : record.words) {
        const std::string quoted = shellQuoted(word);
        if (out.size() + 1 + quoted.size() + kMore.size() > kLongestText)
            return out.append(kMore);
        out += " " + quoted;
    }
    return out;
}

std::string timeOf(uint64_t milliseconds)
{
    constexpr uint64_t kLatest = 253'402'300'799; // of the year 9999
    return utcTimeText(static_cast<int64_t>(std::min(milliseconds / 1000, kLatest)));
}

DetachedJob shownOf(const jobs::JobEntry& job)
{
    return {.id = job.record.id,
        .state = job.state,
        .command = commandOf(job.record),
        .target = job.record.target,
        .machine = job.record.machine,
        .started = timeOf(job.record.started),
        .ended = job.end ? timeOf(job.end->ended) : std::string(),
        .exit = job.end ? std::optional(job.end->exit) : std::nullopt,
        .json = job.record.json,
        .progress = parseProgress(job.progress)};
}

void describeJobs(auto& out, ConstOr<std::vector<DetachedJob>> auto& entries)
{
    out.answer(
        "jobs", "JobsAnswer", "Commands that run as processes of their own on a machine, newest first.");
    out.field("jobs", entries);
}

std::string stateText(const jobs::JobEntry& job, const std::optional<Progress>& progress)
{
    std::string out(stateName(job.state));
    if (job.state == jobs::JobState::Running && progress && progress->bytesTotal > 0)
        out += fmt::format(", {} {:.0f} %", printable(progress->phase),
            100
                * std::min(1.0,
                    static_cast<double>(progress->bytesDone) / static_cast<double>(progress->bytesTotal)));
    if (job.state == jobs::JobState::Ended)
        out += ", exit status " + std::to_string(job.end->exit);
    if (job.state == jobs::JobState::Elsewhere)
        out += ", on " + printable(job.record.machine);
    return out;
}

} // namespace

std::optional<Progress> parseProgress(std::string_view json)
{
    std::string problem;
    Progress out;
    JsonIn in(JsonNode::parse(json), problem);
    describe(in, out);
    return problem.empty() ? std::optional(std::move(out)) : std::nullopt;
}

std::string progressJson(const Progress& progress)
{
    std::string text;
    writeObject([&](std::string_view part) { text += part; }, [&](JsonOut& out) { describe(out, progress); });
    return text;
}

std::string progressSchema()
{
    return schemaOf("progress", [](SchemaOut& out) {
        const Progress none;
        describe(out, none);
    });
}

void writeJobsJson(const TextSink& sink, const std::vector<jobs::JobEntry>& entries)
{
    std::vector<DetachedJob> shown;
    std::ranges::transform(entries, std::back_inserter(shown), shownOf);
    writeObject(sink, [&](JsonOut& out) { describeJobs(out, std::as_const(shown)); });
}

std::string jobsSchema()
{
    return schemaOf("jobs", [](SchemaOut& out) {
        const std::vector<DetachedJob> none;
        describeJobs(out, none);
    });
}

void writeJobsText(const TextSink& sink, const TextStyle& style, const std::vector<jobs::JobEntry>& entries)
{
    if (entries.empty()) {
        sink("no jobs\n");
        return;
    }
    TextTable table({{"job"}, {"started"}, {"state"}, {"command"}});
    for (const jobs::JobEntry& job : entries)
        table.add({job.record.id, timeOf(job.record.started), stateText(job, parseProgress(job.progress)),
            printable(commandOf(job.record))});
    table.write(sink, style, "");
}

Result<std::vector<DetachedJob>> parseJobs(std::string_view json)
{
    std::string problem;
    std::vector<DetachedJob> out;
    JsonIn in(JsonNode::parse(json), problem);
    describeJobs(in, out);
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "what the other host says of its jobs cannot be used: " + problem);
    return out;
}

Result<DetachedJob> parseJob(std::string_view json)
{
    SHARDSCOPE_TRY(std::vector<DetachedJob> all, parseJobs(json));
    if (all.size() != 1)
        return fail(ErrorCode::Hostile, "what the other host says of the job cannot be used");
    return std::move(all.front());
}

} // namespace shardscope
