// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair.h"

#include "core/base/finding_codes.h"
#include "core/base/sha256.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/doctor/split_folders.h"
#include "core/io/outage_watch.h"
#include "core/layout/address.h"
#include "core/plan/emit/old_forms.h"
#include "core/plan/model/marks.h"
#include "core/plan/model/source_list.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/amended_parts.h"
#include "core/plan/repair/repair_json.h"
#include "core/plan/repair/repair_reopen.h"
#include "core/plan/repair/repair_tags.h"
#include "core/plan/repair/verbatim_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace shardscope {

namespace {

/// Determines which files of a repaired checkpoint's source are unchanged, so that they can be copied. A file
/// is excluded if this is not certain. Immutable once made.
class Untouched
{
public:
    /// `amended`: the whole and its parts, after all fixes.
    explicit Untouched(const std::vector<const Amended*>& amended);

    [[nodiscard]] bool contains(const std::string& name) const;

private:
    void touchOptimizer(const Amended& amended);
    void touchModel(const Amended& amended);
    void touchPlace(const Amended& amended, const Place& where);

    bool m_none = false;
    std::set<std::string> m_touched; ///< names of files
};

Untouched::Untouched(const std::vector<const Amended*>& amended)
{
    for (const Amended* one : amended) {
        // Files of older releases are all rewritten in the current form.
        m_none = m_none || one->rewriteAll || !one->moved.empty() || hasOldForm(*one->source);
        for (const auto& [file, edit] : one->edits) {
            if (file == one->source->templateOptim) // this is the template of all others
                touchOptimizer(*one);
            else
                touchModel(*one);
        }
        if (one->model.differ())
            touchModel(*one);
        const bool setsSteps = std::any_of(one->checkpoint->units.begin(), one->checkpoint->units.end(),
            [](const FlatUnit& unit) { return unit.stepSet; });
        if (setsSteps)
            touchOptimizer(*one);
        for (const LostPart& part : one->lost)
            touchPlace(*one, part.where);
        for (const RepairChange& change : one->changes) {
            const bool isRenamed = change.code == code::kRankForeign && !change.reconstructed
                && one->open.exchanged.contains(change.where.file());
            const bool ofFolders = isRenamed || change.code == code::kLatestMissing
                || change.code == code::kLatestDangling || change.code == kSplitShards;
            if (!ofFolders)
                touchPlace(*one, change.where);
        }
    }
    // Stock DeepSpeed records places in another order than it stores data. This program does not. A mix of
    // both files would not fit together.
    for (const Amended* one : amended) {
        const bool anyOptimizer = std::any_of(m_touched.begin(), m_touched.end(), [](const auto& name) {
            const auto parsed = parseCheckpointFileName(name);
            return parsed && parsed->role == FileRole::OptimStates;
        });
        if (anyOptimizer && one->source->roundRobin)
            touchOptimizer(*one);
    }
}

void Untouched::touchOptimizer(const Amended& amended)
{
    for (const FileId file : amended.source->optimFiles) {
        if (file != kNoFile)
            m_touched.insert(amended.source->file(file).name);
    }
}

void Untouched::touchModel(const Amended& amended)
{
    for (const CheckpointFile& file : amended.source->files) {
        if (file.role != FileRole::OptimStates)
            m_touched.insert(file.name);
    }
}

void Untouched::touchPlace(const Amended& amended, const Place& where)
{
    if (const FlatAddress* flat = where.flat()) {
        for (const CheckpointFile& file : amended.source->files) {
            if (file.role == FileRole::OptimStates && file.rank == flat->rank)
                m_touched.insert(file.name);
        }
        return;
    }
    const ParamAddress* param = where.param();
    if (param != nullptr && param->state == "weight") // no optimizer file holds weights
        touchModel(amended);
    else if (param != nullptr || where.isEmpty())
        m_none = true; // any rank may hold some of it
    else
        m_touched.insert(where.file());
}

bool Untouched::contains(const std::string& name) const
{
    return !m_none && !m_touched.contains(name);
}

/// Makes a plan that rewrites the repaired source in its own form a repair: one more file records the
/// changes.
void addRecord(WritePlan& plan, const Amended& amended, const RepairRecord& record, const CheckResult& found)
{
    RepairFacts facts{.changes = amended.changes,
        .fixed = record.options.fixes,
        .depth = record.options.depth.value_or(CheckDepth::Metadata),
        .source = amended.source,
        .input = {record.source, {.tag = tagToOpen(record.options.fixes, record.tag), .roots = record.roots},
            record.options}};
    facts.input.open.salvage = amended.open.salvage;
    facts.input.open.kind = record.kind;
    for (const DoctorFinding& made : found.findings) {
        if (made.finding.severity != Severity::Info)
            facts.found.emplace(made.finding.code);
    }
    OutputFile file{.path = kRepairName, .torchArchive = false};
    const std::string text = repairText(record, facts.changes);
    file.records.push_back({kRepairName, text.size(), OutputRecord::Content::Literal, text, {}});
    plan.files.push_back({kRepairName, text.size()});
    plan.writesBytes = 0;
    for (const PlannedFile& planned : plan.files)
        plan.writesBytes += planned.bytes;
    plan.verb = "repair";
    plan.id = sha256Of(plan.id + text + idText(fieldsOf(facts.input.options))).substr(0, 16);
    nlohmann::json described = nlohmann::json::parse(plan.description, nullptr, false);
    described["verb"] = plan.verb;
    described["id"] = plan.id;
    described["fixed"] = facts.fixed;
    plan.description = described.dump();
    plan.compose
        = [inner = std::move(plan.compose), file](const WritePlan& of, size_t i) -> Result<OutputFile> {
        return i + 1 < of.files.size() ? inner(of, i) : file;
    };
    plan.repair = std::make_shared<const RepairFacts>(std::move(facts));
}

/// Compares the requested fixes with the findings.
class Repair
{
public:
    Repair(io::FileSystem& files, const io::Path& path, const OpenOptions& open, const RepairOptions& options,
        JobContext& job, SharedWork* shared)
        : m_files(files)
        , m_path(path)
        , m_open(open)
        , m_options(options)
        , m_job(job)
        , m_shared(shared)
    {
    }

    Result<WritePlanPtr> plan()
    {
        if (m_options.fixes.empty() && m_options.values.empty())
            return fail(ErrorCode::Usage, "no finding to repair was named", m_path.string(),
                "name findings with --fix, or --fix all; " + Hint::command("check") + " shows them");
        SHARDSCOPE_CHECK(checkCodes(namesWithoutAll()));
        CheckOptions check;
        check.open = m_open;
        check.depth = depthAsked();
        check.shared = m_shared;
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
            WritePlan plan, planReshard(m_files, repaired, reshardOptions(*source), parts.refills(), m_job));
        const Untouched untouched(parts.all());
        SHARDSCOPE_CHECK(copyVerbatim(
            plan, *source, [&](const std::string& name) { return untouched.contains(name); }, m_job));
        SHARDSCOPE_TRY(RepairRecord record, recordOf(check.depth));
        record.tag = source->tag;
        record.identity = sha256Of(identityText(plan.sources));
        addRecord(plan, amended, record, found);
        return std::make_shared<const WritePlan>(std::move(plan));
    }

private:
    /// Cancelled if a stop, of this or another process, ended the check early.
    [[nodiscard]] Result<CheckResult> examineWhole(const CheckOptions& check) const
    {
        SHARDSCOPE_TRY(CheckResult found, examine(m_files, m_path, check, m_job));
        if (found.stopped)
            return fail(ErrorCode::Cancelled, "stopped on request");
        SHARDSCOPE_CHECK(m_job.poll());
        return found;
    }

    /// Examines the checkpoint and chooses the fixes; again if a file replaces a damaged one. `check` is
    /// then how the checkpoint is opened with it.
    Result<CheckResult> findAndChoose(CheckOptions& check)
    {
        SHARDSCOPE_TRY(CheckResult found, examineWhole(check));
        SHARDSCOPE_CHECK(choose(found));
        SHARDSCOPE_TRY(const auto again, reopenOptions(m_files, m_open, found, m_fixed, m_options, m_job));
        if (!again)
            return found;
        check.open = *again;
        SHARDSCOPE_TRY(CheckResult more, examineWhole(check));
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
        out.kind = m_open.kind;
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
                    made.command.empty() ? Hint(std::string(diagnosis.remedy))
                                         : Hint("shardscope " + made.command, {{Retry::Shown}}));
            m_fixed.emplace_back(diagnosis.code);
        }
        if (m_fixed.empty() && m_options.values.empty())
            return fail(ErrorCode::NotFound, "none of the findings to repair was found", m_path.string(),
                Hint::command("check") + " lists the findings");
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
                Hint::command("check") + " shows why");
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
    SharedWork* m_shared; ///< can be null
    std::vector<std::string> m_fixed;
};

} // namespace

Result<WritePlanPtr> planRepair(io::FileSystem& files, const io::Path& path, const OpenOptions& open,
    const RepairOptions& options, JobContext& job, SharedWork* shared)
{
    const io::OutageWatch watch; // what cannot be read for a moment must not be discarded
    auto plan = watch.judged(Repair(files, path, open, options, job, shared).plan());
    if (!plan)
        return forward(refusal(plan.error()));
    return plan;
}

} // namespace shardscope
