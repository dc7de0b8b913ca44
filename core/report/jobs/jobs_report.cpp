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

#include <fmt/format.h>

namespace shardscope {

void describe(auto& out, const Progress& progress)
{
    out.is("Progress", "How far a job is. `eta_seconds` is None while it is not known.");
    out.field("phase", progress.phase);
    out.field("bytes_done", progress.bytesDone);
    out.field("bytes_total", progress.bytesTotal, "0 if unknown");
    out.field("bytes_per_second", static_cast<uint64_t>(std::max(0.0, progress.bytesPerSecond)));
    out.field(
        "eta_seconds", progress.etaSeconds < 0 ? std::nullopt : std::optional(progress.etaSeconds), finite());
}

namespace {

std::string commandOf(const jobs::JobRecord& record)
{
    std::string out = "shardscope";
    for (const std::string& word : record.words)
        out += " " + shellQuoted(word);
    return out;
}

std::string timeOf(uint64_t milliseconds)
{
    constexpr uint64_t kLatest = 253'402'300'799; // of the year 9999
    return utcTimeText(static_cast<int64_t>(std::min(milliseconds / 1000, kLatest)));
}

} // namespace

namespace jobs {

void describe(auto& out, const JobEntry& job)
{
    out.is("DetachedJob", "A command that runs, or ran, as a process of its own.");
    out.field("id", job.record.id, "for --attach, --stop, --resume and --forget");
    out.word("state", job.state, stateName,
        "interrupted: it was stopped, or its process has ended without an answer; the same command "
        "continues it. elsewhere: started on another machine with the same home folder");
    out.name("command", commandOf(job.record), "for a shell of its machine");
    out.name("machine", job.record.machine);
    out.field("started", timeOf(job.record.started), "UTC; its last start");
    out.textOrNull("ended", job.end ? timeOf(job.end->ended) : std::string(), "UTC");
    out.field("exit", job.end ? std::optional(job.end->exit) : std::nullopt, "its exit status");
    out.field("json", job.record.json, "whether its answer is JSON");
    out.field("progress", parseProgress(job.progress), "the last that it reported");
}

} // namespace jobs

namespace {

void describeJobs(auto& out, const std::vector<jobs::JobEntry>& entries)
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
    const JsonNode node = JsonNode::parse(json);
    const auto phase = node.at("phase").text();
    const auto done = node.at("bytes_done").integer<uint64_t>();
    const auto total = node.at("bytes_total").integer<uint64_t>();
    const auto rate = node.at("bytes_per_second").integer<uint64_t>();
    if (!phase || !done || !total)
        return std::nullopt;
    Progress out{*phase, *done, *total, static_cast<double>(rate.value_or(0))};
    if (out.bytesPerSecond > 0 && out.bytesTotal >= out.bytesDone && out.bytesTotal > 0)
        out.etaSeconds = static_cast<double>(out.bytesTotal - out.bytesDone) / out.bytesPerSecond;
    return out;
}

std::string progressJson(const Progress& progress)
{
    std::string text;
    writeObject([&](std::string_view part) { text += part; }, [&](JsonOut& out) { describe(out, progress); });
    return text;
}

std::string progressSchema()
{
    return schemaOf("progress", [](SchemaOut& out) { describe(out, Progress()); });
}

void writeJobsJson(const TextSink& sink, const std::vector<jobs::JobEntry>& entries)
{
    writeObject(sink, [&](JsonOut& out) { describeJobs(out, entries); });
}

std::string jobsSchema()
{
    return schemaOf("jobs", [](SchemaOut& out) { describeJobs(out, {}); });
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

Result<std::string> jobOfAnswer(std::string_view json)
{
    const JsonNode found = JsonNode::parse(json).at("jobs");
    const auto all = found.isArray() ? found.items() : std::vector<JsonNode>();
    const auto id = all.size() == 1 ? all.front().at("id").text() : std::nullopt;
    if (!id || !jobs::JobStore::isId(*id))
        return fail(ErrorCode::Hostile, "what the other host says of the job cannot be used");
    return *id;
}

} // namespace shardscope
