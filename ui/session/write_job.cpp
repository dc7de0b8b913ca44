// SPDX-License-Identifier: Apache-2.0
#include "ui/session/write_job.h"

#include "core/base/parallel.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/open/open.h"
#include "core/report/answers/repair_report.h"
#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString stageWords(const char* stage)
{
    const std::string_view name(stage);
    if (name == "reading")
        return u"reading"_s;
    if (name == "processor")
        return u"the processor"_s;
    return name == "verification" ? u"reading back"_s : u"writing"_s;
}

/// The compute backend, the rate and the slowest stage.
QString ratesOf(const ExecuteReport& report)
{
    QString text = u"%1 (%2)"_s.arg(toText(report.compute.device), toText(report.compute.by));
    if (report.bytesPerSecond > 0)
        text = u"%1/s on %2"_s.arg(bytesText(static_cast<uint64_t>(report.bytesPerSecond)), text);
    if (const char* stage = report.limitedBy())
        text += u", "_s % u"mostly %1"_s.arg(stageWords(stage));
    for (const std::string& note : report.compute.notes)
        text += u"; "_s % toText(note);
    return text;
}

QString summaryOf(const ExecuteReport& report)
{
    if (report.wasDone)
        return u"An earlier job had written it"_s % u" · "_s % pathText(report.output);
    QString text
        = report.verified ? u"Written and verified: %1 in %2"_s : u"Written, not verified: %1 in %2"_s;
    text = text.arg(bytesText(report.bytesWritten + report.bytesReused), durationText(report.seconds));
    if (report.bytesReused > 0)
        text += u" · "_s % u"%1 kept from an interrupted run"_s.arg(bytesText(report.bytesReused));
    return text % u" · "_s % ratesOf(report) % u" · "_s % pathText(report.output);
}

/// The backend for a plan, as the command line chooses it by default.
Result<ExecuteOptions> withCompute(
    io::FileSystem& files, const WritePlan& plan, ExecuteOptions options, JobContext& context)
{
    const unsigned jobs = options.jobs == 0 ? defaultJobs() : options.jobs;
    const ComputeNeed need{ComputeTask::Transform, plan.writesBytes, jobs};
    SHARDSCOPE_TRY(options.compute, chooseCompute({}, need, files, userRateMemory()));
    context.log("arithmetic: " + options.compute.backend->name() + " (" + options.compute.reason + ")");
    return options;
}

/// The check of a result, as the end of the job's summary.
struct OutputCheck {
    QString text;
    bool needsAttention = false;
};
using Afterwards = std::function<Result<OutputCheck>(const ExecuteReport& report, JobContext& context)>;

/// Where the result is opened: a tag by its run folder, as training opens it. Not every export format can be
/// opened here. A cancellation comes too late for what is written.
void findResult(io::FileSystem& files, const io::Path& output, JobOutcome& outcome)
{
    OpenOptions look;
    look.depth = OpenDepth::Structure;
    JobContext own;
    const auto opened = openCheckpoint(files, output, look, own);
    if (!opened)
        return;
    outcome.output = output;
    const Checkpoint& made = *opened->checkpoint;
    const bool isTag = !made.tag.empty() && !hasNoRunFolder(made.kind);
    outcome.place = isTag ? made.runFolder : output;
    outcome.tag = isTag ? made.tag : std::string();
}

/// Runs a plan and describes the result.
Result<JobOutcome> runPlan(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options,
    const Afterwards& afterwards, JobContext& context)
{
    SHARDSCOPE_TRY(const ExecuteOptions how, withCompute(files, plan, options, context));
    SHARDSCOPE_TRY(const ExecuteReport report, execute(files, plan, how, context));
    JobOutcome outcome{.summary = summaryOf(report)};
    findResult(files, report.output, outcome);
    if (afterwards && !report.wasDone) {
        SHARDSCOPE_TRY(const OutputCheck seen, afterwards(report, context));
        outcome.summary += u" · "_s % seen.text;
        outcome.needsAttention = seen.needsAttention;
    }
    constexpr uint64_t kEnoughToMeasure = uint64_t{64} << 20;
    if (report.bytesWritten >= kEnoughToMeasure)
        outcome.bytesPerSecond = static_cast<uint64_t>(report.bytesPerSecond);
    return outcome;
}

QString titleOf(const WritePlan& plan)
{
    if (plan.repair)
        return u"Repair a copy"_s;
    if (plan.exported)
        return u"Export as %1"_s.arg(toText(exportFormatName(plan.exported->options.format)));
    if (isUniversal(plan.reshard->kind))
        return u"Convert to a universal folder"_s;
    const uint32_t ranks = plan.reshard->worldSize;
    return ranks == 1 ? u"Reshard to 1 GPU"_s : u"Reshard to %1 GPUs"_s.arg(ranks);
}

constexpr uint64_t kPlanLimitBytes = uint64_t{256} << 20;

/// Of a repair: a check of the copy, as deep as the one before it.
Afterwards afterwardsOf(io::FileSystem& files, const WritePlanPtr& plan)
{
    if (!plan->repair)
        return {};
    return [&files, plan](const ExecuteReport& report, JobContext& context) -> Result<OutputCheck> {
        CheckOptions again;
        again.depth = plan->repair->depth;
        const auto after = examine(files, report.output, again, context);
        if (!after && after.error().code != ErrorCode::Cancelled)
            return forward(after.error());
        if (!after || after->stopped)
            return OutputCheck{u"The copy is complete, but it was not checked again"_s, true};
        const RepairCheck check = compareChecks(*plan, *after);
        QStringList codes;
        for (const std::string& code : check.remaining)
            codes.append(toText(code));
        for (const Finding& finding : check.appeared)
            codes.append(toText(finding.code));
        return check.ok() ? OutputCheck{u"Checked again: it is repaired"_s, false}
                          : OutputCheck{u"Checked again, and found: %1"_s.arg(codes.join(u", "_s)), true};
    };
}

Result<JobOutcome> runStored(
    io::FileSystem& files, const StoredJob& stored, const StoredJobs& jobs, JobContext& context)
{
    const std::string path = jobs.planFile(stored.record).toStdString();
    SHARDSCOPE_TRY(const std::string text, files.readSmall(path, kPlanLimitBytes));
    SHARDSCOPE_TRY(const SavedPlan saved, parseSavedPlan(text, path));
    SHARDSCOPE_TRY(const PlannedAgain again, planAgain(files, saved, {}, context));
    ExecuteOptions options;
    options.destination = again.folder;
    options.sourceRunFolder = ownFolderOf(*again.source);
    options.verify = stored.verify;
    options.force = stored.force;
    SHARDSCOPE_TRY(
        JobOutcome outcome, runPlan(files, *again.plan, options, afterwardsOf(files, again.plan), context));
    jobs.remove(stored.record);
    return outcome;
}

} // namespace

Job* makeWriteJob(io::FileSystem& files, const WritePlanPtr& plan, const ExecuteOptions& options,
    const std::shared_ptr<const JobStore>& store)
{
    const QString title = titleOf(*plan);
    const Afterwards afterwards = afterwardsOf(files, plan);
    StoredJob stored{.record = store ? StoredJobs::recordOf(*plan, options.destination) : QString(),
        .title = title,
        .target = pathText(options.destination / plan->targetName),
        .workFolders = StoredJobs::workFoldersOf(*plan, options.destination),
        .verify = options.verify,
        .force = options.force};
    auto* job = new Job(title, stored.target,
        [&files, plan, options, store, afterwards, stored](JobContext& context) -> Result<JobOutcome> {
            if (store) {
                if (const QString problem = store->jobs.store(stored, store->plan()); !problem.isEmpty())
                    context.log(
                        "the job cannot be continued after the window closes: " + problem.toStdString());
            }
            SHARDSCOPE_TRY(JobOutcome outcome, runPlan(files, *plan, options, afterwards, context));
            if (store)
                store->jobs.remove(stored.record);
            return outcome;
        });
    job->setFacts({{}, stored.workFolders, stored.record});
    return job;
}

Job* makeStoredJob(io::FileSystem& files, const StoredJob& stored, const StoredJobs& jobs)
{
    auto* job = new Job(stored.title, stored.target,
        [&files, stored, jobs](JobContext& context) { return runStored(files, stored, jobs, context); });
    job->setFacts({{}, stored.workFolders, stored.record});
    return job;
}

Job* makeUndoJob(io::FileSystem& files, const io::Path& repairedTag, const ExecuteOptions& options)
{
    return new Job(u"Undo a repair"_s, pathText(options.destination),
        [&files, repairedTag, options](JobContext& context) -> Result<JobOutcome> {
            SHARDSCOPE_TRY(const UndoPlan undo, planUndo(files, repairedTag, {}, {}, true, context));
            ExecuteOptions how = options;
            how.sourceRunFolder = ownFolderOf(*undo.source);
            return runPlan(files, *undo.plan, how, {}, context);
        });
}

} // namespace shardscope::ui
