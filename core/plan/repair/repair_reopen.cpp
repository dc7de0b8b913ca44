// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/repair_reopen.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/require.h"
#include "core/doctor/split_folders.h"
#include "core/layout/address.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/repair_tags.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr std::array kOddRanks{code::kStepMismatch, code::kOptionMismatch, code::kStateLength};
/// The findings that are expected if counters, schedule and weights are of another step than these optimizer
/// files.
constexpr std::array<std::string_view, 3> kOfOtherStep{
    "step-off-counters", "schedule-discontinuity", "masters-not-copies"};

bool isAmong(std::span<const std::string_view> codes, std::string_view code)
{
    return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool repairs(const std::vector<std::string>& fixes, std::string_view code)
{
    return std::find(fixes.begin(), fixes.end(), code) != fixes.end();
}

std::optional<CheckpointFileName> fileOf(const Finding& finding)
{
    return parseCheckpointFileName(finding.where.file());
}

bool isModelFile(const Finding& finding)
{
    const auto parsed = fileOf(finding);
    return parsed && parsed->role == FileRole::ModelStates;
}

/// Whether a damaged model file needs another tag's file. True, except for a ZeRO-3 rank's file without
/// values of its own.
bool needsOtherModel(const CheckResult& found, const std::vector<std::string>& fixes)
{
    const bool holdsFrozen = found.checkpoint
        && std::any_of(found.checkpoint->units.begin(), found.checkpoint->units.end(),
            [](const FlatUnit& unit) { return unit.kind == UnitKind::Frozen; });
    return std::any_of(found.findings.begin(), found.findings.end(), [&](const DoctorFinding& made) {
        const Finding& finding = made.finding;
        if (!repairs(fixes, finding.code) || !isModelFile(finding))
            return false;
        const auto parsed = fileOf(finding);
        if (finding.code == code::kFileTorn && found.checkpoint && !found.checkpoint->modelError) {
            const auto file = fileNamed(*found.checkpoint, finding.where);
            if (file && isWholeAgain(found.checkpoint->file(*file)))
                return false;
        }
        return (finding.code == code::kModelStatesMissing || finding.code == code::kFileTorn)
            && (!parsed->zero3Model || parsed->dp == 0 || holdsFrozen || !found.checkpoint
                || found.checkpoint->modelError);
    });
}

/// Whether the predicate is true for the checkpoint, or for each of its slices and stages.
template <typename Predicate>
bool ofEachPart(const Checkpoint& checkpoint, const Predicate& isSo)
{
    if (checkpoint.parts.empty())
        return isSo(checkpoint);
    return std::all_of(
        checkpoint.parts.begin(), checkpoint.parts.end(), [&](const auto& part) { return isSo(*part); });
}

/// A rank without findings, for the case that the first rank's file must not be the template of all.
std::optional<uint32_t> otherForm(const CheckResult& found, const std::vector<std::string>& fixes)
{
    if (!found.checkpoint || found.checkpoint->templateOptim == kNoFile)
        return std::nullopt;
    const Checkpoint& checkpoint = *found.checkpoint;
    std::set<uint32_t> odd;
    bool first = false;
    for (const DoctorFinding& made : found.findings) {
        const Finding& finding = made.finding;
        const auto parsed = fileOf(finding);
        if (!parsed || parsed->role != FileRole::OptimStates || finding.severity == Severity::Info)
            continue;
        odd.insert(parsed->dp);
        const std::string name = finding.where.file();
        first = first
            || (isAmong(kOddRanks, finding.code) && repairs(fixes, finding.code)
                && !ofEachPart(checkpoint, [&](const Checkpoint& part) {
                       return part.templateOptim == kNoFile || part.file(part.templateOptim).name != name;
                   }));
    }
    for (uint32_t rank = 0; first && rank < checkpoint.parallel.dp; ++rank) {
        const bool isThere = ofEachPart(checkpoint, [&](const Checkpoint& part) {
            return rank < part.optimFiles.size() && part.isReadable(part.optimFiles[rank]);
        });
        if (!odd.contains(rank) && isThere)
            return rank;
    }
    return std::nullopt;
}

/// The name under which an optimizer file was saved: an archive keeps it as its prefix. Empty if that is the
/// current name, or is not recorded.
std::string nameWhenSaved(const CheckpointFile& file)
{
    const auto parsed = parseCheckpointFileName(file.name);
    if (!file.content || !parsed || parsed->role != FileRole::OptimStates)
        return {};
    const std::string name = file.content->zip().prefix() + ".pt";
    const auto saved = parseCheckpointFileName(name);
    const bool isOther = saved && saved->role == FileRole::OptimStates && name != file.name
        && saved->bf16Prefix == parsed->bf16Prefix && saved->mp == parsed->mp && !saved->expert
        && !parsed->expert;
    return isOther ? name : std::string();
}

/// Optimizer files with exchanged names, as OpenOptions::exchanged. The right name cannot be determined if a
/// named file is missing, or if two files were saved under one name.
std::map<std::string, std::string> exchangedFiles(
    const CheckResult& found, const std::vector<std::string>& fixes)
{
    std::map<std::string, std::string> currentName; // name when saved → name now
    if (!found.checkpoint || !repairs(fixes, code::kRankForeign))
        return currentName;
    std::set<std::string> twice;
    const auto add = [&](const Checkpoint& checkpoint) {
        for (const CheckpointFile& file : checkpoint.files) {
            const std::string saved = nameWhenSaved(file);
            if (saved.empty() || file.status != FileStatus::Foreign)
                continue;
            const auto [known, isNew] = currentName.emplace(saved, file.name);
            if (!isNew && known->second != file.name)
                twice.insert(saved);
        }
    };
    add(*found.checkpoint);
    for (const auto& part : found.checkpoint->parts)
        add(*part);
    for (const std::string& name : twice)
        currentName.erase(name);
    for (bool isOpen = true; isOpen;) { // the remaining entries form closed cycles
        std::set<std::string> now;
        for (const auto& [saved, name] : currentName)
            now.insert(name);
        isOpen = std::erase_if(currentName, [&](const auto& entry) {
            return !now.contains(entry.first) || !currentName.contains(entry.second);
        }) > 0;
    }
    return currentName;
}

Result<io::Path> tagWithModel(
    io::FileSystem& files, const CheckResult& found, const RepairOptions& options, JobContext& job)
{
    CheckpointPtr other;
    if (!options.donor.empty()) {
        SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, options.donor, {}, job));
        SHARDSCOPE_CHECK(requireComplete(*opened.checkpoint));
        other = opened.checkpoint;
    } else {
        SHARDSCOPE_TRY(other, neighbourTag(files, found.folder.parent_path(), found.tag, job));
    }
    if (!other)
        return fail(ErrorCode::Refused,
            "the model file is lost, and no other tag of the run records names and shapes",
            found.folder.string(), "name another checkpoint of the run with --from");
    return other->tagFolder;
}

} // namespace

bool isWholeAgain(const CheckpointFile& file)
{
    const TorchFile* content = file.content.get();
    if (content == nullptr || !content->zip().isRecovered())
        return false;
    const auto storages = content->storagesInOrder();
    const auto& records = content->zip().records();
    return std::all_of(storages.begin(), storages.end(), [&](const StorageView& storage) {
        return content->zip().find("data/" + std::string(storage.key)).has_value();
    }) && std::none_of(records.begin(), records.end(), [](const ZipRecord& record) {
        return record.damaged;
    });
}

bool hasOtherModel(const Checkpoint& checkpoint)
{
    return checkpoint.templateModel != kNoFile
        && checkpoint.file(checkpoint.templateModel).path.parent_path() != checkpoint.tagFolder;
}

Result<std::optional<OpenOptions>> reopenOptions(io::FileSystem& files, const OpenOptions& open,
    const CheckResult& found, const std::vector<std::string>& fixes, const RepairOptions& options,
    JobContext& job)
{
    OpenOptions out = open;
    const bool otherModel = needsOtherModel(found, fixes);
    if (otherModel) {
        SHARDSCOPE_TRY(out.modelsFrom, tagWithModel(files, found, options, job));
    }
    out.formOf = otherForm(found, fixes);
    out.exchanged = exchangedFiles(found, fixes);
    if (repairs(fixes, kSplitShards)) {
        for (const DoctorFinding& made : found.findings) {
            if (made.finding.code != kSplitShards)
                continue;
            const auto& folders = made.finding.folders;
            out.roots.insert(out.roots.end(), folders.begin(), folders.end());
        }
    }
    const bool addsFolders = out.roots.size() > open.roots.size();
    return otherModel || out.formOf || addsFolders || !out.exchanged.empty() ? std::optional(out)
                                                                             : std::nullopt;
}

void mergeFindings(const CheckResult& before, const OpenOptions& again, CheckResult& found)
{
    const bool otherModel = !again.modelsFrom.empty();
    if (otherModel)
        std::erase_if(found.findings,
            [](const DoctorFinding& made) { return isAmong(kOfOtherStep, made.finding.code); });
    const bool areMerged = std::none_of(found.findings.begin(), found.findings.end(),
        [](const DoctorFinding& made) { return made.finding.code == kSplitShards; });
    for (const DoctorFinding& made : before.findings) {
        const bool ofModel = otherModel && isModelFile(made.finding)
            && (made.finding.code == code::kModelStatesMissing || made.finding.code == code::kFileTorn);
        const bool ofExchanged
            = made.finding.code == code::kRankForeign && again.exchanged.contains(made.finding.where.file());
        if (ofModel || ofExchanged || (areMerged && made.finding.code == kSplitShards))
            found.findings.push_back(made);
    }
}

} // namespace shardscope
