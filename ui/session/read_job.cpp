// SPDX-License-Identifier: Apache-2.0
#include "ui/session/read_job.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/checkpoint/folder/skeleton.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/compute/compute_choice.h"
#include "core/engine/verify/verify.h"
#include "core/io/published_file.h"
#include "core/report/answers/skeleton_report.h"
#include "core/report/answers/verify_report.h"
#include "ui/session/far_answers.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/session/fingerprint_store.h"
#include "ui/session/session.h"
#include "ui/session/value_run.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// What a job needs of the checkpoint that is shown. It does not keep it in memory.
struct Subject {
    io::FileSystem& files;
    CheckPlace place;
    std::weak_ptr<const Checkpoint> shown;
};

Subject subjectOf(io::FileSystem& files, const PlacedCheckpoint& shown)
{
    return {files, shown.place, shown.checkpoint};
}

/// The name of the tag, or of the folder that was opened.
QString nameOf(const PlacedCheckpoint& shown)
{
    const std::string& tag = shown.checkpoint->tag;
    return tag.empty() ? pathText(shown.checkpoint->tagFolder.filename()) : toText(tag);
}

/// The same tag, also if `latest` names another one by now.
Result<CheckpointPtr> openAgain(const Subject& subject, JobContext& context)
{
    const CheckPlace& place = subject.place;
    SHARDSCOPE_TRY(OpenedCheckpoint opened, openCheckpoint(subject.files, place.path, place.open, context));
    if (opened.checkpoint->tagFolder != place.tagFolder) {
        OpenOptions ofTag = place.open;
        ofTag.tag.clear();
        SHARDSCOPE_TRY(opened, openCheckpoint(subject.files, place.tagFolder, ofTag, context));
    }
    SHARDSCOPE_CHECK(requireTag(*opened.checkpoint));
    return opened.checkpoint;
}

Result<CheckpointPtr> openForValues(const Subject& subject, JobContext& context)
{
    SHARDSCOPE_TRY(CheckpointPtr checkpoint, openAgain(subject, context));
    if (isSkeleton(*checkpoint))
        return fail(ErrorCode::Unsupported, "this is a skeleton: it holds no values",
            subject.place.path.native(), "open the original checkpoint");
    return checkpoint;
}

/// The backend, as the command line chooses it by default.
Result<ComputeChoice> computeFor(const Subject& subject, const Checkpoint& checkpoint, JobContext& context)
{
    const ComputeNeed need{
        ComputeTask::Transform, bytesNotRead(checkpoint, CheckDepth::Names), defaultJobs()};
    SHARDSCOPE_TRY(ComputeChoice choice, chooseCompute({}, need, subject.files, userRateMemory()));
    context.log("arithmetic: " + choice.backend->name() + " (" + choice.reason + ")");
    return choice;
}

/// On the thread of the store.
void keepFingerprint(FingerprintStore& store, const Subject& subject, const Checkpoint& read, QString figure)
{
    const CheckpointPtr shown = subject.shown.lock();
    if (shown && hasSameFiles(*shown, read))
        QMetaObject::invokeMethod(
            &store, [&store, of = subject.shown, figure = std::move(figure)] { store.put(of, figure); });
}

QString readText(uint64_t files, uint64_t bytes)
{
    return u"%1, %2 read"_s.arg(filesText(files), bytesText(bytes));
}

QString problemsText(size_t count)
{
    return count == 1 ? u"1 problem"_s : u"%1 problems"_s.arg(countText(count));
}

/// `marks`: of the problems, values that no run saved. The bytes may be right all the same.
QString verdictOf(const VerifyReport& report, size_t marks)
{
    const QString what = toText(checkedText(report));
    const QString checked = what.isEmpty() ? u"Nothing was checked."_s : u"Checked: %1."_s.arg(what);
    QString text;
    if (const size_t wrong = report.problems.size() - marks; wrong > 0)
        text = u"Verification failed: %1. %2"_s.arg(problemsText(wrong), checked);
    else if (report.isCompared())
        text = u"Verified, every byte is as it was written. %1"_s.arg(checked);
    else
        text = u"No problems found in %1."_s.arg(what);
    if (marks > 0)
        text += u" Not all values are of a run: a repair has reconstructed some."_s;
    if (const std::string why = noManifestText(report); !why.empty())
        text += u" %1."_s.arg(sentenceText(why));
    if (!report.isCompared() && report.crc)
        text += u" So changed values with a right CRC were not looked for. Compare it with another copy to "
                u"find them."_s;
    return text % u' ' % readText(report.files, report.bytes) % u'.';
}

void logProblem(const Finding& problem, JobContext& context)
{
    const std::string where = placeText(problem.where).toStdString();
    context.log(problem.message + (where.empty() ? "" : ": " + where));
    for (const std::string& fact : problem.evidence)
        context.log("    " + fact);
}

/// With values that no run saved as problems.
Result<VerifyReport> verified(const Subject& subject, const CheckpointPtr& checkpoint, JobContext& context)
{
    if (const std::string host = hostOf(subject.place); !host.empty()) {
        context.log("computed on " + host);
        return verifyThere({subject.files, subject.place, *checkpoint}, context);
    }
    SHARDSCOPE_TRY(const ComputeChoice compute, computeFor(subject, *checkpoint, context));
    const Workers workers(defaultJobs(), *compute.backend);
    SHARDSCOPE_TRY(VerifyReport report, verifyCheckpoint(subject.files, checkpoint, {}, workers, context));
    refuseMarked(*checkpoint, report);
    return report;
}

Result<JobOutcome> verify(const Subject& subject, FingerprintStore& fingerprints, JobContext& context)
{
    SHARDSCOPE_TRY(const CheckpointPtr checkpoint, openForValues(subject, context));
    SHARDSCOPE_CHECK(requireVerifiable(subject.files, *checkpoint));
    SHARDSCOPE_TRY(VerifyReport report, verified(subject, checkpoint, context));
    SHARDSCOPE_CHECK(context.poll()); // a read that was given up is no problem of the file
    const auto marks
        = static_cast<size_t>(std::ranges::count(report.problems, code::kMarked, &Finding::code));
    constexpr size_t kMostLogged = 1000;
    for (size_t i = 0; i < std::min(report.problems.size(), kMostLogged); ++i)
        logProblem(report.problems[i], context);
    if (report.problems.size() > kMostLogged)
        context.log("and " + std::to_string(report.problems.size() - kMostLogged) + " more");
    JobOutcome outcome{
        .summary = verdictOf(report, marks), .needsAttention = !report.ok || !report.isCompared()};
    if (report.ok)
        outcome.figure = QString::fromStdString(report.fingerprint);
    outcome.problems = std::move(report.problems);
    const auto& [path, open, tagFolder] = subject.place;
    outcome.checkpoint = checkpoint->tagFolder;
    outcome.readFrom = std::make_shared<const OpenedPlace>(
        placeToReopen(*checkpoint, {path, open.tag, open.roots, open.salvage, open.kind}, false));
    if (!outcome.figure.isEmpty() && report.fingerprintVersion == kDigestVersion)
        keepFingerprint(fingerprints, subject, *checkpoint, outcome.figure);
    return outcome;
}

Result<StateFingerprint> fingerprintOf(
    const Subject& subject, const CheckpointPtr& checkpoint, JobContext& context)
{
    if (const std::string host = hostOf(subject.place); !host.empty()) {
        context.log("computed on " + host);
        return fingerprintThere({subject.files, subject.place, *checkpoint}, context);
    }
    SHARDSCOPE_TRY(const ComputeChoice compute, computeFor(subject, *checkpoint, context));
    const Workers workers(defaultJobs(), *compute.backend);
    return fingerprintState(subject.files, checkpoint, workers, context);
}

Result<JobOutcome> fingerprint(const Subject& subject, FingerprintStore& fingerprints, JobContext& context)
{
    SHARDSCOPE_TRY(const CheckpointPtr checkpoint, openForValues(subject, context));
    SHARDSCOPE_CHECK(requireKnownKind(*checkpoint));
    SHARDSCOPE_TRY(const StateFingerprint found, fingerprintOf(subject, checkpoint, context));
    JobOutcome outcome{.summary = {}};
    outcome.figure = QString::fromStdString(found.whole.text());
    outcome.summary = u"%1 · %2"_s.arg(outcome.figure, readText(found.files, found.bytes));
    for (const StateShare& share : found.states)
        context.log(share.state + "  " + share.digest.text());
    keepFingerprint(fingerprints, subject, *checkpoint, outcome.figure);
    return outcome;
}

Result<JobOutcome> writeSkeletonOf(const Subject& subject, const SkeletonTarget& to, JobContext& context)
{
    SHARDSCOPE_TRY(const CheckpointPtr checkpoint, openAgain(subject, context));
    SkeletonRequest request;
    request.asked = subject.place.path;
    request.tagWasNamed = !subject.place.open.tag.empty();
    request.out = to.path;
    request.force = to.replaces;
    const auto written
        = writeCheckedSkeleton(subject.files, checkpoint, request, subject.place.open, context);
    const auto there = io::entryType(subject.files, to.path);
    const bool isFile = there && *there == io::FileType::Regular; // a link or folder is never replaced
    if (!written && written.error().code == ErrorCode::TargetExists && !to.replaces && isFile)
        return fail(ErrorCode::TargetExists, "the file was created after its name was chosen",
            to.path.native(), "save the skeleton once more to replace it");
    SHARDSCOPE_TRY(const SkeletonReport report, written);
    for (const std::string& key : report.redactedKeys)
        context.log("values removed: client key " + key);
    for (const std::string& name : report.sizeOnly)
        context.log("size and time only: " + name);
    JobOutcome outcome{
        .summary = u"Written without values: %1 from %2 (%3) · names are kept: look at them "
                   u"before you share the file · %4"_s.arg(bytesText(report.bytesAfter),
                       filesText(report.files), bytesText(report.bytesBefore), pathText(to.path))};
    outcome.output = to.path;
    outcome.place = to.path;
    return outcome;
}

Job* reading(Job* job)
{
    JobFacts facts;
    facts.onlyReads = true;
    job->setFacts(std::move(facts));
    return job;
}

} // namespace

Job* makeVerifyJob(io::FileSystem& files, const PlacedCheckpoint& shown, FingerprintStore& fingerprints)
{
    return reading(new Job(u"Verify %1"_s.arg(nameOf(shown)), pathText(shown.place.path),
        [subject = subjectOf(files, shown), &fingerprints](
            JobContext& context) { return verify(subject, fingerprints, context); }));
}

Job* makeFingerprintJob(io::FileSystem& files, const PlacedCheckpoint& shown, FingerprintStore& fingerprints)
{
    return reading(new Job(u"Fingerprint of %1"_s.arg(nameOf(shown)), pathText(shown.place.path),
        [subject = subjectOf(files, shown), &fingerprints](
            JobContext& context) { return fingerprint(subject, fingerprints, context); }));
}

Job* makeSkeletonJob(io::FileSystem& files, const PlacedCheckpoint& shown, const SkeletonTarget& to)
{
    return reading(new Job(u"Skeleton of %1"_s.arg(nameOf(shown)), pathText(to.path),
        [subject = subjectOf(files, shown), to](
            JobContext& context) { return writeSkeletonOf(subject, to, context); }));
}

} // namespace shardscope::ui
