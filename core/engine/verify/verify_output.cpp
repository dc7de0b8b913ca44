// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify_output.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/layer_masters.h"
#include "core/checkpoint/open/open.h"
#include "core/compare/digest/file_scan.h"
#include "core/compare/digest/state_digest.h"
#include "core/doctor/loader_checks.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

tl::unexpected<Error> wrong(std::string what, const io::Path& folder)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), folder.string(),
        "no output was published; this is a defect, please report it");
}

/// An error of the device, not of the bytes: the same command may succeed later.
tl::unexpected<Error> unreadable(const std::string& why, const io::Path& folder)
{
    return fail(ErrorCode::WriteFailed, "the output cannot be read again: " + why, folder.string(),
        "no output was published; run the same command again to continue");
}

class RunCursor final : public ElementRunCursor
{
public:
    explicit RunCursor(std::vector<ElementRun> runs)
        : m_runs(std::move(runs))
    {
    }

    bool next(ElementRun& run) override
    {
        if (m_at == m_runs.size())
            return false;
        run = m_runs[m_at++];
        return true;
    }

private:
    std::vector<ElementRun> m_runs;
    size_t m_at = 0;
};

/// The written folder, opened with the same reader as any checkpoint.
class CheckpointOutput final : public OutputModel
{
public:
    explicit CheckpointOutput(CheckpointPtr checkpoint)
        : m_checkpoint(std::move(checkpoint))
        , m_table(m_checkpoint)
        , m_wholeRuns(*m_checkpoint, m_table)
    {
        for (uint32_t i = 0; i < m_checkpoint->files.size(); ++i)
            m_fileByName.emplace(m_checkpoint->files[i].name, FileId{i});
    }

    /// Every planned tensor must be there with its dtype and size, and no other tensors. Not every kind
    /// stores empty ones.
    Status matchTensors(const WritePlan& plan)
    {
        std::map<std::pair<std::string_view, std::string_view>, uint32_t> planned;
        for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
            if (plan.tensors[i].elements > 0)
                planned.try_emplace({plan.tensors[i].name, plan.tensors[i].state}, i);
        }
        size_t matched = 0;
        m_planned.resize(m_table.size());
        for (uint32_t i = 0; i < m_table.size(); ++i) {
            const TensorTable::Entry entry = m_table.entry(i);
            const Parameter& param = m_checkpoint->params[index(entry.param)];
            if (param.elements == 0
                || (entry.state == "fp32" && isMasterOfOtherStage(*m_checkpoint, entry.param)))
                continue;
            const auto found = planned.find({param.name, entry.state});
            const bool same = found != planned.end() && plan.tensors[found->second].dtype == entry.dtype
                && plan.tensors[found->second].elements == param.elements;
            if (!same)
                return wrong(
                    "tensor `" + param.name + "`, state `" + std::string(entry.state) + "` is not as planned",
                    m_checkpoint->tagFolder);
            m_planned[i] = found->second;
            ++matched;
        }
        if (planned.size() != matched)
            return wrong("the output has " + std::to_string(matched) + " tensors, but "
                    + std::to_string(planned.size()) + " were planned",
                m_checkpoint->tagFolder);
        return {};
    }

    [[nodiscard]] Result<std::unique_ptr<ElementRunCursor>> runsOf(const std::string& path) const override
    {
        const auto file = m_fileByName.find(path);
        if (file == m_fileByName.end())
            return std::unique_ptr<ElementRunCursor>();
        std::vector<ElementRun> runs;
        for (const TensorRun& run : runsOfFile(*m_checkpoint, m_table, m_wholeRuns, file->second))
            runs.push_back({run.offset, run.bytes, m_planned[run.tensor], run.firstElement});
        return std::unique_ptr<ElementRunCursor>(std::make_unique<RunCursor>(std::move(runs)));
    }

private:
    CheckpointPtr m_checkpoint;
    StringMap<FileId> m_fileByName; ///< universal folders have several per parameter
    TensorTable m_table;
    WholeRuns m_wholeRuns;
    std::vector<uint32_t> m_planned; ///< table index → plan index
};

/// Output that stock DeepSpeed would refuse is not published.
Status passesLoader(
    io::FileSystem& files, const Checkpoint& checkpoint, const io::Path& folder, JobContext& job)
{
    std::vector<LoaderViolation> violations;
    if (auto looked = findLoaderViolations(checkpoint, files, job, violations); !looked) {
        if (looked.error().code == ErrorCode::Cancelled)
            return looked;
        return unreadable(describe(looked.error()), folder);
    }
    if (violations.empty())
        return {};
    const LoaderViolation& first = violations.front();
    const LoaderCheck& check = loaderCheck(first.check);
    return fail(ErrorCode::VerifyFailed,
        "stock DeepSpeed would refuse the output, loader check " + std::to_string(static_cast<int>(check.id))
            + " (" + std::string(check.name) + "): " + first.where.text() + ": " + first.what,
        folder.string(),
        "no output was published; " + Hint::verb("check")
            + " shows whether the source has the same problem, else please report "
              "this as a defect");
}

Result<std::unique_ptr<OutputModel>> openOutput(
    io::FileSystem& files, const io::Path& folder, const WritePlan& plan, JobContext& job)
{
    auto opened = openCheckpoint(files, folder, {}, job);
    if (!opened) {
        if (opened.error().code == ErrorCode::Cancelled)
            return forward(std::move(opened).error());
        // A read error does not prove that the output is wrong: the work is kept for another attempt.
        if (opened.error().code == ErrorCode::Unreadable || opened.error().code == ErrorCode::NotFound)
            return unreadable(describe(opened.error()), folder);
        return wrong("the output does not open again: " + describe(opened.error()), folder);
    }
    const CheckpointPtr checkpoint = opened->checkpoint;
    for (const Finding& finding : checkpoint->findings) {
        if (finding.code == code::kFileUnreadable)
            return unreadable(
                finding.where.text() + (finding.evidence.empty() ? "" : ": " + finding.evidence.front()),
                folder);
    }
    if (checkpoint->modelError)
        return wrong("the output does not open again: " + describe(*checkpoint->modelError), folder);
    for (const Finding& finding : checkpoint->findings) {
        if (finding.severity == Severity::Error)
            return wrong(
                "the output has a finding: " + std::string(finding.code) + " " + finding.where.text(),
                folder);
    }
    SHARDSCOPE_CHECK(passesLoader(files, *checkpoint, folder, job));
    auto model = std::make_unique<CheckpointOutput>(checkpoint);
    SHARDSCOPE_CHECK(model->matchTensors(plan));
    // With all digests zero, the fingerprint includes only the scalars: steps, options, scaler, scheduler.
    const std::vector<Digest> none(plan.tensors.size());
    const std::vector<Digest> noneHere(TensorTable(checkpoint).size());
    const std::string meant = plan.fingerprint(none);
    if (!meant.empty() && meant != fingerprintOf(checkpoint, noneHere).text())
        return wrong("steps, options or scaler of the output differ from the source", folder);
    return std::unique_ptr<OutputModel>(std::move(model));
}

} // namespace

ExecuteHooks checkpointHooks()
{
    ExecuteHooks hooks;
    hooks.openOutput = openOutput;
    hooks.fingerprint = [](io::FileSystem&, const WritePlan& plan, std::span<const Digest> digests,
                            JobContext&) -> Result<std::string> { return plan.fingerprint(digests); };
    return hooks;
}

} // namespace shardscope
