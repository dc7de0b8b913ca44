// SPDX-License-Identifier: Apache-2.0
#include "core/report/summary/next_steps.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/doctor/examine.h"
#include "core/engine/skeleton/skeleton.h"
#include "core/engine/verify/verify.h"
#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/reshard/reshard.h"

#include <algorithm>

namespace shardscope {

namespace {

/// The error of a planner as one sentence. What is missing or damaged is not listed again: findings have it.
std::string reasonOf(const Error& error, const Checkpoint& checkpoint)
{
    if (!checkpoint.supported && error.message.find(checkpoint.whyNot) != std::string::npos)
        return "it is not supported"; // a finding says why
    std::string first;
    size_t problems = 0;
    for (const Finding& finding : checkpoint.findings) {
        if (finding.severity == Severity::Error && ++problems == 1)
            first = finding.message;
    }
    if (error.code != ErrorCode::Refused || problems == 0)
        return error.message;
    return problems == 1
        ? first
        : formatCount(problems) + " problems would make the result wrong, the first: " + first;
}

std::string reasonOf(const Status& status, const Checkpoint& checkpoint)
{
    return status ? std::string() : reasonOf(status.error(), checkpoint);
}

/// Whether a job can be planned. Usage: an option has to be chosen first.
template <class Plan>
std::string whyNotPlanned(const Result<Plan>& plan, const Checkpoint& checkpoint)
{
    return plan || plan.error().code == ErrorCode::Usage ? std::string() : reasonOf(plan.error(), checkpoint);
}

/// Plans the repair of all findings with a fix, from a severity on, with the default settings.
Result<WritePlanPtr> repairPlan(io::FileSystem& files, const OpenedAt& at, const Checkpoint& checkpoint,
    std::span<const Finding> found, Severity least, JobContext& job)
{
    RepairOptions options;
    options.depth = CheckDepth::Metadata; // reads no values
    for (const Finding& finding : found) {
        const Diagnosis& diagnosis = diagnosisOf(finding.code);
        const std::string code(diagnosis.code);
        if (finding.severity >= least && repairs(diagnosis, finding)
            && std::find(options.fixes.begin(), options.fixes.end(), code) == options.fixes.end())
            options.fixes.push_back(code);
    }
    auto plan = planRepair(files, at.path, at.open, options, job);
    const bool seesAll = plan ? (*plan)->repair->fixed.size() == options.fixes.size()
                              : plan.error().code != ErrorCode::NotFound;
    if (seesAll)
        return plan;
    // A check that read more has found them.
    if (defaultCheckDepth(checkpoint) != CheckDepth::Bytes)
        return fail(ErrorCode::NotFound, "not all findings are seen without reading every byte");
    options.depth = CheckDepth::Bytes;
    return planRepair(files, at.path, at.open, options, job);
}

/// A repair of problems, with what is in the way.
void planProblems(NextStep& step, const Result<WritePlanPtr>& plan)
{
    step.isUnplanned = !plan && plan.error().code == ErrorCode::NotFound;
    if (!plan && !step.isUnplanned)
        step.whyNotAtOnce = plan.error().message;
}

NextStep repairStep(io::FileSystem& files, const OpenedAt& at, const Checkpoint& checkpoint,
    std::span<const Finding> found, JobContext& job)
{
    NextStep step{NextStepId::Repair, {}};
    const Finding* worst = nullptr;
    bool hasFix = false;
    bool fixesProblem = false;
    for (const Finding& finding : found) {
        const bool isProblem = finding.severity != Severity::Info;
        const bool isFixed = repairs(diagnosisOf(finding.code), finding);
        hasFix = hasFix || isFixed;
        fixesProblem = fixesProblem || (isFixed && isProblem);
        if (isProblem && !isFixed && (worst == nullptr || finding.severity > worst->severity))
            worst = &finding;
    }
    if (fixesProblem) {
        planProblems(step, repairPlan(files, at, checkpoint, found, Severity::Warning, job));
    } else if (worst != nullptr) {
        const std::string_view why = diagnosisOf(worst->code).noRemedy;
        step.whyNot = why.empty() ? "no finding has a fix" : std::string(why);
    } else if (hasFix) {
        step.isOptional = true;
        if (!checkpoint.parts.empty()) { // settings of slices and stages have no repair
            const auto plan = repairPlan(files, at, checkpoint, found, Severity::Info, job);
            if (!plan && plan.error().code == ErrorCode::Unsupported)
                step = {NextStepId::Repair, plan.error().message};
        }
    } else {
        step.whyNot = "nothing to repair was found";
    }
    return step;
}

/// Twice the ranks: a number that their slices, stages and experts divide.
uint32_t otherRanks(const Checkpoint& checkpoint)
{
    return std::max<uint32_t>(checkpoint.parallel.ranks(), 1) * 2;
}

std::string whyNotResume(io::FileSystem& files, const CheckpointPtr& checkpoint, JobContext& job)
{
    ReshardOptions options;
    options.worldSize = otherRanks(*checkpoint);
    return whyNotPlanned(planReshard(files, checkpoint, options, job), *checkpoint);
}

std::string whyNotConvert(io::FileSystem& files, const CheckpointPtr& checkpoint, JobContext& job)
{
    if (isUniversal(checkpoint->kind))
        return "it is universal already, and any number of ranks loads it";
    ReshardOptions options;
    options.form = TargetForm::Universal;
    return whyNotPlanned(planReshard(files, checkpoint, options, job), *checkpoint);
}

std::string whyNotExport(io::FileSystem& files, const CheckpointPtr& checkpoint, JobContext& job)
{
    if (isWeights(checkpoint->kind))
        return {}; // into another format
    ExportOptions options;
    options.folderName = "export";
    return whyNotPlanned(planExport(files, checkpoint, options, job), *checkpoint);
}

std::string whyNotCompare(const Checkpoint& checkpoint)
{
    return reasonOf(requireModel(checkpoint), checkpoint);
}

/// A record that a check has read and found damaged: every job that reads it stops there. A plan reads no
/// payload and does not know it.
std::string whyNotRead(std::span<const Finding> found)
{
    const auto damaged = std::ranges::find_if(found, [](const Finding& finding) {
        return finding.code == code::kRecordCorrupt && finding.severity == Severity::Error;
    });
    return damaged == found.end() ? std::string() : damaged->message;
}

constexpr std::string_view kNoValues = "it is a skeleton and holds no values";

std::string whyNotVerify(io::FileSystem& files, const Checkpoint& checkpoint)
{
    if (isSkeleton(checkpoint))
        return std::string(kNoValues);
    const auto manifest = files.stat(checkpoint.tagFolder / kManifestName);
    if (!manifest && manifest.error().code != ErrorCode::NotFound)
        return reasonOf(manifest.error(), checkpoint);
    return manifest
        ? reasonOf(requireVerifiable(files, checkpoint), checkpoint)
        : "it was not written by Shardscope: there is no " + std::string(kManifestName) + " to compare with";
}

} // namespace

std::vector<NextStep> nextSteps(io::FileSystem& files, const OpenedAt& at, const CheckpointPtr& checkpoint,
    std::span<const Finding> found, JobContext& job)
{
    std::vector<NextStep> out{repairStep(files, at, *checkpoint, found, job),
        {NextStepId::Resume, whyNotResume(files, checkpoint, job)},
        {NextStepId::Convert, whyNotConvert(files, checkpoint, job)},
        {NextStepId::Export, whyNotExport(files, checkpoint, job)},
        {NextStepId::Compare, whyNotCompare(*checkpoint)},
        {NextStepId::Verify, whyNotVerify(files, *checkpoint)}};
    for (NextStep& step : out) {
        if (step.whyNot.empty()
            && (step.id == NextStepId::Resume || step.id == NextStepId::Convert
                || step.id == NextStepId::Export))
            step.whyNot = whyNotRead(found);
    }
    if (job.cancelled())
        out.clear();
    return out;
}

ReadingJobs readingJobs(io::FileSystem& files, const Checkpoint& checkpoint)
{
    ReadingJobs out;
    out.whyNotSkeleton = reasonOf(requireSkeletonSource(files, checkpoint), checkpoint);
    if (isSkeleton(checkpoint)) {
        out.whyNotVerify = out.whyNotFingerprint = kNoValues;
        return out;
    }
    if (isSwapKind(checkpoint.kind)) { // its error names options of the command line
        out.whyNotVerify = out.whyNotFingerprint
            = "it is a swap folder: only a checkpoint of the run records names and shapes";
        return out;
    }
    out.whyNotVerify = reasonOf(requireVerifiable(files, checkpoint), checkpoint);
    out.whyNotFingerprint = reasonOf(requireModel(checkpoint), checkpoint);
    if (out.whyNotFingerprint.empty() && (checkpoint.params.empty() || isWeights(checkpoint.kind)))
        out.whyNotFingerprint = "it has no training state";
    return out;
}

} // namespace shardscope
