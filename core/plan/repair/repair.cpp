// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/require.h"
#include "core/doctor/split_folders.h"
#include "core/io/outage_watch.h"
#include "core/io/sha256.h"
#include "core/plan/model/marks.h"
#include "core/plan/model/verbatim_files.h"
#include "core/plan/repair/amended_parts.h"
#include "core/plan/repair/repair_json.h"
#include "core/plan/repair/repair_reopen.h"
#include "core/plan/repair/repair_tags.h"
#include "core/plan/repair/untouched.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

/// A reshard of the repaired source to its own form. Unchanged files are copied. One more file records the
/// changes.
class RepairPlanImpl final : public RepairPlan
{
public:
    RepairPlanImpl(std::shared_ptr<const ReshardPlan> inner, VerbatimFiles verbatim, const Amended& amended,
        const RepairRecord& record, const CheckResult& found)
        : m_inner(std::move(inner))
        , m_verbatim(std::move(verbatim))
        , m_depth(record.options.depth.value_or(CheckDepth::Metadata))
        , m_source(amended.source)
        , m_input{record.source, {.tag = tagToOpen(record.options.fixes, record.tag), .roots = record.roots},
              record.options}
        , m_changes(amended.changes)
        , m_fixed(record.options.fixes)
        , m_text(repairText(record, m_changes))
        , m_files(m_inner->files())
    {
        m_input.open.salvage = amended.open.salvage;
        for (const DoctorFinding& made : found.findings) {
            if (made.finding.severity != Severity::Info)
                m_found.emplace(made.finding.code);
        }
        for (size_t i = 0; i < m_files.size(); ++i) {
            if (m_verbatim.contains(i)) {
                m_files[i].bytes = m_verbatim.bytes(i);
                m_files[i].copyOf = m_verbatim.source(i);
            }
        }
        m_files.push_back({kRepairName, m_text.size()});
        for (const PlannedFile& file : m_files)
            m_writesBytes += file.bytes;
        io::Sha256 sha;
        const std::string text = m_inner->id() + m_text;
        sha.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        m_id = sha.finishHex().substr(0, 16);
    }

    [[nodiscard]] std::string verb() const override { return "repair"; }
    [[nodiscard]] std::string id() const override { return m_id; }
    [[nodiscard]] std::string targetName() const override { return m_inner->targetName(); }
    [[nodiscard]] std::string pointerName() const override { return m_inner->pointerName(); }
    [[nodiscard]] const std::vector<PlanSource>& sources() const override { return m_verbatim.sources(); }
    [[nodiscard]] const std::vector<PlanTensor>& tensors() const override { return m_inner->tensors(); }
    [[nodiscard]] const std::vector<PlannedFile>& files() const override { return m_files; }
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const override
    {
        if (i + 1 < m_files.size()) {
            SHARDSCOPE_TRY(OutputFile recipe, m_inner->recipe(i));
            return m_verbatim.contains(i) ? m_verbatim.recipe(i, recipe)
                                          : Result<OutputFile>(std::move(recipe));
        }
        OutputFile out;
        out.path = kRepairName;
        out.torchArchive = false;
        out.records.push_back({kRepairName, m_text.size(), OutputRecord::Content::Literal, m_text, {}});
        return out;
    }
    [[nodiscard]] std::vector<OutputFile> runFolderFiles() const override
    {
        return m_inner->runFolderFiles();
    }
    [[nodiscard]] uint64_t readsBytes() const override { return m_inner->readsBytes(); }
    [[nodiscard]] uint64_t writesBytes() const override { return m_writesBytes; }
    [[nodiscard]] std::string fingerprint(std::span<const Digest> digests) const override
    {
        return m_inner->fingerprint(digests);
    }
    [[nodiscard]] std::string describeJson() const override
    {
        nlohmann::json out = nlohmann::json::parse(m_inner->describeJson(), nullptr, false);
        out["verb"] = verb();
        out["id"] = m_id;
        out["fixed"] = m_fixed;
        return out.dump();
    }
    [[nodiscard]] const std::vector<Finding>& warnings() const override { return m_inner->warnings(); }
    [[nodiscard]] const std::vector<Finding>& marks() const override { return m_inner->marks(); }
    [[nodiscard]] uint32_t worldSize() const override { return m_inner->worldSize(); }
    [[nodiscard]] CheckpointKind targetKind() const override { return m_inner->targetKind(); }
    [[nodiscard]] std::optional<uint64_t> subGroupSize() const override { return m_inner->subGroupSize(); }
    [[nodiscard]] const std::vector<BatchPair>& batch() const override { return m_inner->batch(); }
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& mustStayEqual() const override
    {
        return m_inner->mustStayEqual();
    }
    [[nodiscard]] CheckpointPtr laidOut() const override { return m_inner->laidOut(); }
    [[nodiscard]] std::vector<FlatUnit> targetUnits() const override { return m_inner->targetUnits(); }
    [[nodiscard]] const ReshardOptions& options() const override { return m_inner->options(); }
    [[nodiscard]] const std::vector<RepairChange>& changes() const override { return m_changes; }
    [[nodiscard]] const std::vector<std::string>& fixed() const override { return m_fixed; }
    [[nodiscard]] const std::set<std::string, std::less<>>& found() const override { return m_found; }
    [[nodiscard]] CheckDepth depth() const override { return m_depth; }
    [[nodiscard]] CheckpointPtr source() const override { return m_source; }
    [[nodiscard]] const RepairInput& input() const override { return m_input; }

private:
    std::shared_ptr<const ReshardPlan> m_inner;
    VerbatimFiles m_verbatim;
    CheckDepth m_depth;
    std::set<std::string, std::less<>> m_found;
    CheckpointPtr m_source;
    RepairInput m_input;
    std::vector<RepairChange> m_changes;
    std::vector<std::string> m_fixed;
    std::string m_text;
    std::vector<PlannedFile> m_files;
    uint64_t m_writesBytes = 0;
    std::string m_id;
};

/// Compares the requested fixes with the findings.
class Repair
{
public:
    Repair(io::FileSystem& files, const io::Path& path, const OpenOptions& open, const RepairOptions& options,
        JobContext& job)
        : m_files(files)
        , m_path(path)
        , m_open(open)
        , m_options(options)
        , m_job(job)
    {
    }

    Result<std::shared_ptr<const RepairPlan>> plan()
    {
        if (m_options.fixes.empty() && m_options.values.empty())
            return fail(ErrorCode::Usage, "no finding to repair was named", m_path.string(),
                "name findings with --fix, or --fix all; `shardscope check` shows them");
        SHARDSCOPE_CHECK(checkCodes(namesWithoutAll()));
        CheckOptions check;
        check.open = m_open;
        check.depth = depthAsked();
        SHARDSCOPE_TRY(const CheckResult found, findAndChoose(check));
        SHARDSCOPE_TRY(CheckpointPtr source, sourceOf(found));
        Amended amended{
            .files = m_files,
            .job = m_job,
            .options = m_options,
            .open = check.open,
            .source = source,
            .checkpoint = std::make_shared<Checkpoint>(*source),
        };
        if (doesRepair(code::kLatestMissing) || doesRepair(code::kLatestDangling))
            amended.changes.push_back(
                {doesRepair(code::kLatestMissing) ? code::kLatestMissing : code::kLatestDangling, "latest",
                    "names the newest complete tag", source->latest.value_or(std::string()), source->tag,
                    false});
        AmendedParts parts(amended);
        SHARDSCOPE_CHECK(applyFixes(parts, amended, found));
        SHARDSCOPE_CHECK(parts.set(m_options.values));
        SHARDSCOPE_CHECK(parts.finish());
        std::shared_ptr<Checkpoint>& repaired = amended.checkpoint;
        repaired->complete = repaired->fullyRead && !repaired->modelError
            && std::none_of(repaired->findings.begin(), repaired->findings.end(),
                [](const Finding& finding) { return finding.severity == Severity::Error; });
        SHARDSCOPE_TRY(
            auto inner, planReshard(m_files, repaired, reshardOptions(*source), parts.refills(), m_job));
        const Untouched untouched(parts.all());
        SHARDSCOPE_TRY(VerbatimFiles verbatim,
            VerbatimFiles::of(
                *inner, *source, [&](const std::string& name) { return untouched.contains(name); }, m_job));
        SHARDSCOPE_TRY(RepairRecord record, recordOf(check.depth));
        record.tag = source->tag;
        record.identity = identityOf(inner->sources());
        return std::shared_ptr<const RepairPlan>(
            std::make_shared<RepairPlanImpl>(std::move(inner), std::move(verbatim), amended, record, found));
    }

private:
    /// Examines the checkpoint and chooses the fixes; again if a file replaces a damaged one. `check` is
    /// then how the checkpoint is opened with it.
    Result<CheckResult> findAndChoose(CheckOptions& check)
    {
        SHARDSCOPE_TRY(CheckResult found, examine(m_files, m_path, check, m_job));
        SHARDSCOPE_CHECK(m_job.poll());
        SHARDSCOPE_CHECK(choose(found));
        SHARDSCOPE_TRY(const auto again, reopenOptions(m_files, m_open, found, m_fixed, m_options, m_job));
        if (!again)
            return found;
        check.open = *again;
        SHARDSCOPE_TRY(CheckResult more, examine(m_files, m_path, check, m_job));
        SHARDSCOPE_CHECK(m_job.poll());
        mergeFindings(found, *again, more);
        m_fixed.clear();
        SHARDSCOPE_CHECK(choose(more));
        return more;
    }

    /// The record must name the same folders wherever it is read. Without tag and identity.
    [[nodiscard]] Result<RepairRecord> recordOf(std::optional<CheckDepth> depth) const
    {
        RepairRecord out;
        SHARDSCOPE_TRY(const io::Path canonical, m_files.canonical(m_path));
        out.source = canonical.string();
        for (const io::Path& root : m_open.roots) {
            SHARDSCOPE_TRY(out.roots.emplace_back(), m_files.canonical(root));
        }
        out.options = m_options;
        out.options.fixes = m_fixed;
        out.options.depth = depth;
        if (!out.options.donor.empty()) {
            SHARDSCOPE_TRY(const io::Path donor, m_files.canonical(out.options.donor));
            out.options.donor = donor.string();
        }
        return out;
    }

    [[nodiscard]] bool asksForAll() const
    {
        return std::find(m_options.fixes.begin(), m_options.fixes.end(), "all") != m_options.fixes.end();
    }

    [[nodiscard]] std::vector<std::string> namesWithoutAll() const
    {
        std::vector<std::string> out = m_options.fixes;
        std::erase(out, "all");
        return out;
    }

    [[nodiscard]] CheckDepth depthAsked() const
    {
        if (m_options.depth)
            return *m_options.depth;
        const bool readsAll
            = std::any_of(repairFixes().begin(), repairFixes().end(), [&](const RepairFix& fix) {
                  const Diagnosis* diagnosis = findDiagnosis(fix.code);
                  return fix.readsAll && diagnosis != nullptr
                      && std::any_of(m_options.fixes.begin(), m_options.fixes.end(),
                          [&](const std::string& word) { return isNamedBy(*diagnosis, word); });
              });
        return readsAll ? CheckDepth::Bytes : CheckDepth::Metadata;
    }

    [[nodiscard]] bool doesRepair(std::string_view code) const
    {
        return std::find(m_fixed.begin(), m_fixed.end(), code) != m_fixed.end();
    }

    /// Chooses the codes that are both named and found. Each has a fix.
    Status choose(const CheckResult& found)
    {
        for (const DoctorFinding& made : found.findings) {
            const Diagnosis& diagnosis = *made.diagnosis;
            const bool named = std::any_of(m_options.fixes.begin(), m_options.fixes.end(),
                [&](const std::string& word) { return isNamedBy(diagnosis, word); });
            const bool counts = made.finding.severity != Severity::Info;
            const bool repairable = repairs(diagnosis, made.finding);
            if ((!named && !(asksForAll() && counts && repairable)) || doesRepair(diagnosis.code))
                continue;
            if (!named && diagnosis.code == kSplitShards)
                return refuseUnclearMerge(made.finding);
            if (diagnosis.repairs && !repairable)
                continue; // if there are two findings, one may count
            if (!diagnosis.repairs)
                return fail(ErrorCode::Unsupported,
                    "this program does not repair `" + std::string(diagnosis.code) + "` by itself"
                        + (diagnosis.noRemedy.empty() ? std::string()
                                                      : ": " + std::string(diagnosis.noRemedy)),
                    made.finding.where.text(),
                    made.command.empty() ? std::string(diagnosis.remedy) : "shardscope " + made.command);
            m_fixed.emplace_back(diagnosis.code);
        }
        if (m_fixed.empty() && m_options.values.empty())
            return fail(ErrorCode::NotFound, "none of the findings to repair was found", m_path.string(),
                "`shardscope check` lists the findings");
        return {};
    }

    /// Another run with the same shape may have files of the same names.
    static Status refuseUnclearMerge(const Finding& split)
    {
        return fail(ErrorCode::Refused,
            "the missing files may be in another folder, and only you know whether they are of this save",
            split.folders.front(),
            "name `split-shards` to merge them, or the other findings to repair, to rebuild the files");
    }

    Result<CheckpointPtr> sourceOf(const CheckResult& found)
    {
        const bool pointer = std::any_of(m_fixed.begin(), m_fixed.end(), isOfPointer);
        if (pointer && found.tag.empty())
            return newestWholeTag(m_files, found.folder, m_job);
        if (!found.checkpoint)
            return fail(ErrorCode::Unsupported, "no part of the checkpoint can be opened", m_path.string(),
                "`shardscope check` shows why");
        SHARDSCOPE_CHECK(requireModel(*found.checkpoint));
        return found.checkpoint;
    }

    /// The findings of the doctor. If another tag than the requested one is repaired: the findings of its
    /// reader.
    static std::vector<const Finding*> findingsOf(
        const Amended& amended, const CheckResult& found, const RepairFix& fix)
    {
        std::vector<const Finding*> out;
        const auto add = [&](const Finding& finding) {
            const Diagnosis* diagnosis = findDiagnosis(fix.code);
            if (finding.code == fix.code && diagnosis != nullptr && repairs(*diagnosis, finding))
                out.push_back(&finding);
        };
        if (amended.source == found.checkpoint) {
            for (const DoctorFinding& made : found.findings)
                add(made.finding);
        } else {
            for (const Finding& finding : amended.source->findings)
                add(finding);
        }
        return out;
    }

    Status applyFixes(AmendedParts& parts, const Amended& amended, const CheckResult& found) const
    {
        for (const RepairFix& fix : repairFixes()) {
            if (!doesRepair(fix.code))
                continue;
            const std::vector<const Finding*> findings = findingsOf(amended, found, fix);
            if (!findings.empty())
                SHARDSCOPE_CHECK(parts.apply(fix, findings));
        }
        return {};
    }

    [[nodiscard]] ReshardOptions reshardOptions(const Checkpoint& source) const
    {
        ReshardOptions out;
        if (isUniversal(source.kind))
            out.form = TargetForm::Universal;
        else
            out.worldSize = source.parallel.ranks();
        out.tagOut = m_options.tagOut;
        out.writePointer = m_options.writePointer;
        out.allow = m_options.allow;
        return out;
    }

    io::FileSystem& m_files;
    const io::Path& m_path;
    const OpenOptions& m_open;
    const RepairOptions& m_options;
    JobContext& m_job;
    std::vector<std::string> m_fixed;
};

} // namespace

Result<std::shared_ptr<const RepairPlan>> planRepair(io::FileSystem& files, const io::Path& path,
    const OpenOptions& open, const RepairOptions& options, JobContext& job)
{
    const io::OutageWatch watch; // what cannot be read for a moment must not be discarded
    return watch.judged(Repair(files, path, open, options, job).plan());
}

} // namespace shardscope
