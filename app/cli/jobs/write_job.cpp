// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/write_job.h"

#include "app/cli/frame/exit.h"
#include "app/cli/jobs/export_job.h"
#include "app/cli/jobs/option_values.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/text_cursor.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/require.h"
#include "core/engine/write/clean.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/part_run.h"
#include "core/engine/write/peer_writers.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/replaced_files.h"
#include "core/engine/write/work_folder.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/model/shared_options.h"
#include "core/report/answers/plan_report.h"
#include "core/report/text/printable.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace shardscope::cli {

namespace {

constexpr uint64_t kPlanLimitBytes = uint64_t{256} << 20;

Result<ExecuteOptions> executeOptions(const Session& session, const WriteJob& job)
{
    const Arguments& arguments = session.arguments();
    ExecuteOptions out;
    out.destination = job.folder;
    out.sourceRunFolder = ownFolderOf(*job.source);
    SHARDSCOPE_TRY(out.jobs, jobsAsked(arguments));
    out.memoryLimitBytes = arguments.size("--memory-limit").value_or(out.memoryLimitBytes);
    out.verify = !arguments.has("--no-verify");
    out.force = arguments.has("--force");
    out.sha256 = arguments.has("--sha256");
    out.restart = arguments.has("--restart");
    out.finish = arguments.has("--finish");
    if (session.shared() != nullptr)
        out.peers = &session.shared()->peers();
    return out;
}

/// --part I/N.
Result<std::optional<Part>> partAsked(const Arguments& arguments)
{
    if (!arguments.has("--part"))
        return std::optional<Part>();
    if (arguments.has("--mpi"))
        return fail(ErrorCode::Usage, "--part is for processes that know nothing of each other", {},
            "with --mpi all parts are written at once");
    if (arguments.has("--finish"))
        return fail(ErrorCode::Usage, "--part and --finish are two steps", {},
            "write all parts first, then run the command once with --finish");
    const std::string text = arguments.text("--part");
    TextCursor cursor(text);
    Part part;
    const bool isPart = cursor.takeNumber(part.index) && cursor.takeText("/") && cursor.takeNumber(part.count)
        && cursor.atEnd() && part.index < part.count;
    if (!isPart)
        return fail(ErrorCode::Usage, "--part takes I/N with I from 0 to N - 1, as in 3/16");
    return std::optional(part);
}

} // namespace

Result<std::optional<SliceRules>> rulesAsked(const Session& session)
{
    std::optional<std::string> text;
    SHARDSCOPE_CHECK(readOptions(session, {patternsField(text)}));
    if (!text)
        return std::optional<SliceRules>();
    SHARDSCOPE_TRY(SliceRules rules, SliceRules::fromJson(*text, session.arguments().text("--patterns")));
    return std::optional(std::move(rules));
}

Result<WriteJob> planReshardJob(Session& session)
{
    ReshardOptions options;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(options)));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    session.job().log("planning for world size " + std::to_string(options.worldSize) + " from "
        + checkpointFolder(*opened.checkpoint));
    SHARDSCOPE_TRY(auto plan, planReshard(session.files(), opened.checkpoint, options, session.job()));
    const std::string destination = session.arguments().positional("DST");
    return WriteJob{std::move(plan), opened.checkpoint, destination, destination};
}

namespace {

/// A distributed checkpoint is one folder, without tag and pointer file.
Result<ExportOptions> distributedOptions(const Session& session)
{
    const Arguments& arguments = session.arguments();
    for (const char* option : {"--tag-out", "--optimizer-option", "--no-latest"}) {
        if (arguments.has(option))
            return fail(ErrorCode::Usage, std::string(option) + " needs --to universal");
    }
    ExportOptions out;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(out)));
    out.format = ExportFormat::Dcp;
    return out;
}

} // namespace

Result<WriteJob> planConvertJob(Session& session)
{
    if (session.arguments().text("--to") == "dcp") {
        SHARDSCOPE_TRY(ExportOptions asked, distributedOptions(session));
        SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
        session.job().log("planning a distributed checkpoint from " + checkpointFolder(*opened.checkpoint));
        return exportJobFor(
            session, opened.checkpoint, std::move(asked), session.arguments().positional("DST"));
    }
    ReshardOptions options;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(options)));
    options.form = TargetForm::Universal;
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    session.job().log("planning a universal checkpoint from " + checkpointFolder(*opened.checkpoint));
    SHARDSCOPE_TRY(auto plan, planReshard(session.files(), opened.checkpoint, options, session.job()));
    const std::string destination = session.arguments().positional("DST");
    return WriteJob{std::move(plan), opened.checkpoint, destination, destination};
}

Result<PlannedAgain> planSavedAgain(Session& session, const std::string& path, std::string& destination)
{
    SHARDSCOPE_TRY(const std::string text, session.files().readSmall(path, kPlanLimitBytes));
    SHARDSCOPE_TRY(const SavedPlan saved, parseSavedPlan(text, path));
    if (destination.empty())
        destination = saved.destination.string();
    return planAgain(session.files(), saved, destination, session.job(), session.shared());
}

Result<int> descriptorNumber(const std::string& text)
{
    int out = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || out < 0)
        return fail(
            ErrorCode::Usage, "--to needs the number of an open descriptor, or - for standard output");
    return out;
}

Result<io::StreamFile> streamTo(int descriptor, const WritePlan& plan)
{
    SHARDSCOPE_TRY(const io::StreamFile stream, io::StreamFile::of(descriptor));
    if (stream.isTerminal())
        return fail(ErrorCode::Usage, "the bytes of a file are not written to a terminal", {},
            "pipe them into another program, or name a descriptor with --to");
    for (const PlanSource& source : plan.sources) {
        if (source.identity.inode == stream.identity().inode
            && source.identity.device == stream.identity().device)
            return fail(ErrorCode::Usage, "this file is a source of the plan", source.path.string(),
                "write to another file");
    }
    return stream;
}

namespace {

/// Warns about other unfinished jobs for the same target, because they use disk space.
void warnOfOtherWork(Session& session, const WritePlan& plan, const io::Path& destination)
{
    Output& output = session.output();
    if (output.quiet())
        return;
    const io::Path target = destination / plan.targetName;
    for (const io::Path& folder : {destination, target}) {
        for (const UnfinishedWork& work : findUnfinishedWork(session.files(), folder)) {
            const bool isOther = work.isFolder && work.target == plan.targetName
                && work.path != WorkFolder::pathFor(plan, folder);
            if (!isOther)
                continue;
            const bool isRunning = isWorkFolderInUse(session.files(), work.path);
            const std::string what = isRunning ? " is running: " : " is unfinished: ";
            const std::string hint = isRunning
                ? ""
                : "; run its command again to continue it, or `shardscope clean` to remove it";
            output.message("warning: another job that writes " + printable(target.string()) + what
                + printable(work.path.string()) + " (" + formatBytes(work.bytes) + ")" + hint + "\n");
        }
        if (plan.ownsFolder)
            break; // jobs for a tag work next to it
    }
}

/// The answers of a job that writes.
class WriteAnswers
{
public:
    WriteAnswers(Session& session, const WriteJob& job, PlanContext context)
        : m_output(session.output())
        , m_job(job)
        , m_context(std::move(context))
    {
    }

    void plan() const
    {
        if (m_output.json() || m_output.quiet())
            return;
        writePlanText(m_output.answer(), m_output.answerStyle(), m_context, *m_job.plan);
    }
    void dryRun(bool isDone) const
    {
        if (m_output.json())
            json(m_context, std::nullopt);
        else
            m_output.answer()(isDone
                    ? "nothing would be written: an earlier run of this command has finished\n"
                    : "nothing was written: this is a dry run\n");
    }
    void part(const PartReport& report) const
    {
        if (m_output.json()) {
            PlanContext context = m_context;
            context.part = report;
            json(context, std::nullopt);
        } else if (!m_output.quiet()) {
            writePartText(m_output.answer(), m_output.answerStyle(), report);
        }
    }
    void result(const ExecuteReport& report) const
    {
        if (m_output.json())
            json(m_context, report);
        else if (m_output.quiet())
            writeResultLine(m_output.answer(), m_output.answerStyle(), report);
        else
            writeResultText(m_output.answer(), m_output.answerStyle(), report);
    }

private:
    void json(const PlanContext& context, const std::optional<ExecuteReport>& result) const
    {
        writePlanJson(m_output.answer(), context, *m_job.plan, result);
    }

    Output& m_output;
    const WriteJob& m_job;
    PlanContext m_context;
};

PlanContext contextOf(
    Session& session, const WriteJob& job, const std::string& verb, const ExecuteOptions& options)
{
    std::vector<std::string> replaces;
    if (options.force) { // a target that cannot be read is refused later
        replaces = replacedFiles(session.files(), *job.plan, options.destination).value_or(replaces);
    }
    return {.verb = verb,
        .source = checkpointFolder(*job.source),
        .sourceTag = job.source->tag,
        .destination = job.destination,
        .memoryBytes = options.memoryLimitBytes,
        .freeBytes = freeBytesAt(session.files(), options.destination),
        .replaces = std::move(replaces),
        .savedTo = {},
        .part = {},
        .repaired = job.repaired};
}

/// The bytes that one of several processes writes.
uint64_t bytesOfOne(const Session& session, const WritePlan& plan, const std::optional<Part>& part)
{
    const uint32_t processes = session.shared() != nullptr ? session.shared()->size() : 1;
    return plan.writesBytes / (part ? part->count : processes);
}

Result<int> runAlone(Session& session, const WriteJob& job, const std::string& verb)
{
    SHARDSCOPE_TRY(ExecuteOptions options, executeOptions(session, job));
    SHARDSCOPE_TRY(const std::optional<Part> part, partAsked(session.arguments()));
    const WriteAnswers answers(session, job, contextOf(session, job, verb, options));
    const WritePlan& plan = *job.plan;
    answers.plan();
    if (session.arguments().has("--dry-run")) {
        RunOutlook outlook;
        if (part) {
            SHARDSCOPE_CHECK(examinePart(session.files(), plan, *part, options, session.job()));
        } else {
            SHARDSCOPE_TRY(outlook, examineRun(session.files(), plan, options, session.job()));
        }
        answers.dryRun(outlook.isDone);
        return kExitDone;
    }
    if (!part)
        warnOfOtherWork(session, plan, options.destination);
    session.job().log("running plan " + plan.id + " into " + job.destination);
    // The plan is shown before the work begins, which may take hours.
    SHARDSCOPE_CHECK(session.output().finishAnswer());
    SHARDSCOPE_TRY(options.compute,
        computeAsked(session, ComputeTask::Transform, bytesOfOne(session, plan, part), options.jobs));
    if (part) {
        const auto report = executePart(session.files(), plan, *part, options, session.job());
        if (!report)
            return forward(refusal(report.error()));
        answers.part(*report);
        return kExitDone;
    }
    const auto report = execute(session.files(), plan, options, session.job());
    if (!report)
        return forward(refusal(report.error()));
    int code = kExitDone;
    if (job.afterwards) {
        SHARDSCOPE_TRY(code, job.afterwards(*report));
    }
    answers.result(*report);
    return code;
}

} // namespace

Result<int> runWriteJob(Session& session, const WriteJob& job, const std::string& verb)
{
    SharedWork* const shared = session.shared();
    if (shared == nullptr)
        return runAlone(session, job, verb);
    SHARDSCOPE_TRY(const ExecuteOptions options, executeOptions(session, job));
    SHARDSCOPE_CHECK(checkSamePlan(session.files(), *job.plan, *shared));
    SHARDSCOPE_CHECK(shared->end({})); // all have planned
    if (shared->rank() > 0) {
        const auto choose = [&](uint64_t bytes) {
            return computeAsked(session, ComputeTask::Transform, bytes, options.jobs);
        };
        SHARDSCOPE_CHECK(serveLeader(session.files(), *job.plan, options, choose, session.job()));
        return kExitDone;
    }
    const Result<int> code = runAlone(session, job, verb);
    // The others wait for it, whatever came of the command.
    const Status dismissed = dismissPeers(shared->peers());
    if (code && !dismissed)
        return forward(dismissed.error());
    return code;
}

} // namespace shardscope::cli
