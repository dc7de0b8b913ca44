// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ensure/ensure.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/checkpoint/folder/folder_content.h"
#include "core/checkpoint/model/require.h"
#include "core/checkpoint/open/open.h"
#include "core/engine/ensure/copies.h"
#include "core/engine/verify/verify.h"
#include "core/engine/write/clean.h"
#include "core/engine/write/work_folder.h"
#include "core/io/folder_hold.h"
#include "core/io/outage_watch.h"
#include "core/plan/model/marks.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace shardscope {

namespace {

/// Other processes that finish or give up in the moment between two looks.
constexpr int kMostSurprises = 5;
constexpr std::chrono::seconds kLook{1};

io::Path copiesFolder(const io::Path& run, const EnsureOptions& options)
{
    io::Path out = run.has_filename() ? run : run.parent_path();
    // Next to the output folder of a Trainer, which counts what begins with checkpoint-N in it
    // (save_total_limit).
    const std::string name = out.filename();
    const io::Path output = out.parent_path();
    if (isNumberedCheckpoint(name) && output.has_filename() && output.filename() != "."
        && output.filename() != "..") {
        out = output;
        out += "-" + name;
    }
    out += "-w" + std::to_string(options.worldSize);
    if (options.stage)
        out += "-stage" + std::to_string(*options.stage);
    return out;
}

io::Path parentOf(const io::Path& path)
{
    return path.has_parent_path() ? path.parent_path() : io::Path(".");
}

class Ensure
{
public:
    Ensure(io::FileSystem& files, const EnsureOptions& options, JobContext& job)
        : m_files(files)
        , m_options(options)
        , m_jobs(options.execute.jobs == 0 ? defaultJobs() : options.execute.jobs)
        , m_job(job)
    {
    }

    Result<EnsureResult> run(const io::Path& path)
    {
        SHARDSCOPE_TRY(m_out.run, tagsSoFar(m_files, path, m_job));
        RunTags left = m_out.run;
        std::optional<Error> first; ///< of the newest tag whose values are damaged
        while (!left.names.empty()) {
            SHARDSCOPE_TRY(const bool found, findTag(left));
            if (!found)
                break;
            Status used = use(*m_out.tag);
            const bool isDamaged = !used
                && (used.error().code == ErrorCode::Damaged || used.error().code == ErrorCode::Refused);
            if (used)
                return std::move(m_out);
            if (!isDamaged)
                return forward(std::move(used).error());
            if (!first)
                first = used.error();
            left.names.erase(std::ranges::find(left.names, m_out.tag->tag), left.names.end());
            m_out.tag->error = std::move(used).error();
            m_out.passedOver.push_back(*std::exchange(m_out.tag, std::nullopt));
        }
        m_out.folder.clear();
        m_out.marks.clear();
        m_out.warnings.clear();
        return first ? Result<EnsureResult>(forward(*first)) : std::move(m_out);
    }

private:
    /// The newest complete one of these tags. False if there is none.
    Result<bool> findTag(const RunTags& left)
    {
        TagReader reader(m_files, left, m_jobs, m_job);
        SHARDSCOPE_TRY(auto tags, reader.downToNewestComplete());
        for (; !tags.empty() && !m_out.tag; tags.pop_back()) {
            if (tags.back().isComplete())
                m_out.tag = std::move(tags.back());
            else
                m_out.passedOver.push_back(std::move(tags.back()));
        }
        return m_out.tag.has_value();
    }

    Status use(const TagSummary& tag)
    {
        OpenOptions open;
        open.tag = tag.tag;
        SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(m_files, m_out.run.base, open, m_job));
        if (!fits(*opened.checkpoint))
            return copy(opened.checkpoint);
        noteMarks(marksOf(*opened.checkpoint, {}));
        if (m_options.verify)
            SHARDSCOPE_CHECK(verify(opened.checkpoint));
        m_out.folder = opened.checkpoint->runFolder;
        m_out.how = EnsureHow::Fits;
        return {};
    }

    void noteMarks(std::vector<Finding> marks)
    {
        m_out.marks = std::move(marks);
        if (!m_out.marks.empty() && m_options.onMarked)
            m_options.onMarked(*m_out.tag, m_out.marks);
    }

    /// Whether so many ranks load this tag where it is.
    [[nodiscard]] bool fits(const Checkpoint& checkpoint) const
    {
        const bool isNamed = checkpoint.latest == checkpoint.tag;
        const bool hasStage = !m_options.stage || checkpoint.zeroStage == *m_options.stage;
        return isNamed && hasStage && !isConverted(checkpoint.kind)
            && checkpoint.parallel.ranks() == m_options.worldSize;
    }

    Status copy(const CheckpointPtr& source)
    {
        ReshardOptions wanted;
        wanted.worldSize = m_options.worldSize;
        wanted.stage = m_options.stage;
        wanted.allow = m_options.allow;
        SHARDSCOPE_TRY(const auto plan, planReshard(m_files, source, wanted, m_job));
        noteMarks(plan->marks);
        m_out.warnings = plan->warnings;
        std::erase_if(m_out.warnings, [](const Finding& finding) {
            return finding.severity != Severity::Warning || finding.code == code::kMarked;
        });
        if (m_options.onPlanned)
            m_options.onPlanned(m_out.warnings);
        const io::Path folder
            = m_options.into.empty() ? copiesFolder(m_out.run.base, m_options) : m_options.into;
        m_out.folder = m_out.run.numbered ? folder / m_out.tag->tag : folder;
        // Others can tell the names below what the user named, and put links there.
        const io::Path named = m_options.into.empty() ? parentOf(folder) : folder;
        std::unique_ptr<io::FolderHold> hold;
        if (m_files.stat(named)) {
            SHARDSCOPE_TRY(hold, io::holdFolder(named, io::HoldKind::Named));
        }
        ExecuteOptions how = m_options.execute;
        how.destination = m_out.folder;
        how.sourceRunFolder = ownFolderOf(*source);
        SHARDSCOPE_TRY(how.sourceRun, identityOfRun(m_files, m_out.run.base));
        SHARDSCOPE_TRY(how.compute, m_options.chooseCompute(plan->writesBytes));
        const WantedCopy made{*plan, m_out.folder, how.sourceRun};
        SHARDSCOPE_CHECK(makeOrFind(*plan, made, std::move(how)));
        if (m_options.keep) {
            const io::Path current = m_out.run.numbered ? m_out.folder : m_out.folder / plan->targetName;
            SHARDSCOPE_TRY(auto old,
                removeOldCopies(
                    m_files, {folder, m_out.run.numbered, current}, made, *m_options.keep, m_job));
            m_out.removed = std::move(old.removed);
            m_out.kept = std::move(old.kept);
        }
        return {};
    }

    Status makeOrFind(const WritePlan& plan, const WantedCopy& copy, ExecuteOptions how)
    {
        for (int surprises = 0;;) {
            const io::OutageWatch watch; // what cannot be read is not absent
            SHARDSCOPE_TRY(CopyState state, stateOfCopy(copy));
            if (state == CopyState::Whole && m_options.verify) {
                SHARDSCOPE_TRY(state, readCopy(copy));
            }
            SHARDSCOPE_CHECK(watch.status());
            if (state == CopyState::Whole) {
                m_out.how = EnsureHow::Found;
                // One that began as another one ended, and died, has left an empty work folder.
                (void)discardWorkFolder(m_files, WorkFolder::pathFor(plan, how.destination));
                return {};
            }
            how.force = state == CopyState::Outdated;
            auto report = execute(m_files, plan, how, m_job);
            if (report && report->wasDone)
                continue; // another process made it since the look
            if (report) {
                m_out.how = EnsureHow::Made;
                m_out.verified = report->verified;
                m_out.report = std::move(*report);
                return {};
            }
            const ErrorCode code = report.error().code;
            const bool madeMeanwhile = code == ErrorCode::TargetExists && !how.force;
            if (code != ErrorCode::Busy && !(madeMeanwhile && surprises++ < kMostSurprises))
                return forward(std::move(report).error());
            SHARDSCOPE_CHECK(wait(report.error()));
        }
    }

    /// What stateOf() says twice before anything is refused or replaced: another process may have been
    /// publishing the copy at the first look.
    Result<CopyState> stateOfCopy(const WantedCopy& copy)
    {
        auto state = stateOf(m_files, copy, m_job);
        const bool isCertain
            = state ? *state != CopyState::Outdated : state.error().code != ErrorCode::TargetExists;
        if (isCertain)
            return state;
        SHARDSCOPE_CHECK(pause());
        return stateOf(m_files, copy, m_job);
    }

    /// Reads a copy that seems whole. A damaged one is replaced if nothing else is lost with it.
    Result<CopyState> readCopy(const WantedCopy& copy)
    {
        OpenOptions open;
        open.tag = copy.plan.targetName;
        auto opened = openCheckpoint(m_files, copy.destination, open, m_job);
        const Status read = opened ? verify(opened->checkpoint) : forward(opened.error());
        if (read)
            return CopyState::Whole;
        if (read.error().code != ErrorCode::Damaged)
            return forward(read.error());
        m_job.log("the copy is damaged and made again: " + describe(read.error()));
        SHARDSCOPE_CHECK(checkOwned(m_files, copy, m_job));
        return CopyState::Outdated;
    }

    /// Damaged if a byte of the checkpoint is not as it was written.
    Status verify(const CheckpointPtr& checkpoint)
    {
        SHARDSCOPE_TRY(
            const VerifyReport report, verifyCheckpoint(m_files, checkpoint, {}, Workers(m_jobs), m_job));
        m_out.verified = report.ok;
        if (report.ok)
            return {};
        return fail(ErrorCode::Damaged, report.problems.front().message, checkpoint->tagFolder.string());
    }

    Status wait(const Error& error)
    {
        if (!std::exchange(m_out.waited, true)) {
            m_job.log(error.message);
            m_job.beginPhase("waiting for another process", 0);
        }
        return pause();
    }

    Status pause()
    {
        const auto end = std::chrono::steady_clock::now() + kLook;
        while (std::chrono::steady_clock::now() < end) {
            SHARDSCOPE_CHECK(m_job.poll());
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return {};
    }

    io::FileSystem& m_files;
    const EnsureOptions& m_options;
    unsigned m_jobs;
    JobContext& m_job;
    EnsureResult m_out;
};

} // namespace

std::string_view ensureHowName(EnsureHow how)
{
    return how == EnsureHow::Fits ? "fits" : how == EnsureHow::Found ? "found" : "made";
}

Result<EnsureResult> ensureCheckpoint(
    io::FileSystem& files, const io::Path& path, const EnsureOptions& options, JobContext& job)
{
    return Ensure(files, options, job).run(path);
}

} // namespace shardscope
