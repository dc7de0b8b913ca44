// SPDX-License-Identifier: Apache-2.0
#include "core/base/sha256.h"
#include "core/io/outage_watch.h"
#include "core/plan/model/source_list.h"
#include "core/plan/repair/copy_plan.h"
#include "core/plan/repair/repair.h"
#include "core/plan/repair/repair_json.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kRecordLimitBytes = uint64_t{64} << 20;

bool isUndone(const std::string& code, const std::vector<std::string>& undone)
{
    const Diagnosis* diagnosis = findDiagnosis(code);
    return undone.empty() || std::any_of(undone.begin(), undone.end(), [&](const std::string& word) {
        return word == "all" || (diagnosis != nullptr && isNamedBy(*diagnosis, word));
    });
}

} // namespace

Result<UndoPlan> planUndo(io::FileSystem& files, const io::Path& repaired, const std::string& tag,
    const std::vector<std::string>& undone, bool writePointer, JobContext& job, SharedWork* shared)
{
    OpenOptions options;
    options.tag = tag;
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, repaired, options, job));
    const io::Path path = opened.checkpoint->tagFolder / kRepairName;
    const auto text = files.readSmall(path, kRecordLimitBytes);
    if (!text && text.error().code != ErrorCode::NotFound)
        return forward(text.error());
    if (!text)
        return fail(ErrorCode::NotACheckpoint,
            "this is not a repaired copy: it has no " + std::string(kRepairName), path.string(),
            "give the folder that `repair` wrote");
    SHARDSCOPE_TRY(const RepairRecord record, readRepairText(*text, path));
    std::vector<std::string> left = record.options.fixes;
    std::erase_if(left, [&](const std::string& code) { return isUndone(code, undone); });
    if (left.size() == record.options.fixes.size() && (!undone.empty() || record.options.values.empty()))
        return fail(ErrorCode::NotFound, "none of the findings to undo was repaired", path.string(),
            "the file lists the repaired findings under `fixed`");

    // Plan it as before, so that its sources can be compared with the recorded ones.
    RepairOptions again = record.options;
    again.writePointer = writePointer;
    OpenOptions open;
    open.tag = tagToOpen(record.options.fixes, record.tag);
    open.roots = record.roots;
    for (const io::Path& root : record.roots) {
        const auto info = files.stat(root);
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info)
            return fail(ErrorCode::NotFound,
                "the folder given to the repair with --root does not exist any more", root.string(),
                "undo needs the unchanged source");
    }
    const auto changed = [&](const std::string& why) {
        return fail(ErrorCode::SourceChanged, "the source has changed since the repair" + why, record.source,
            "undo needs the unchanged source");
    };
    const io::OutageWatch watch;
    auto planned = planRepair(files, record.source, open, again, job, shared);
    SHARDSCOPE_CHECK(watch.status());
    if (!planned && planned.error().code == ErrorCode::Cancelled)
        return forward(planned.error());
    if (!planned)
        return changed(": " + planned.error().message);
    if (sha256Of(identityText((*planned)->sources)) != record.identity)
        return changed({});

    UndoPlan out;
    out.source = (*planned)->repair->source;
    if (undone.empty() || (left.empty() && record.options.values.empty())) {
        SHARDSCOPE_TRY(out.plan, planCopy(files, *out.source, writePointer, job));
        return out;
    }
    again.fixes = left;
    open.tag = tagToOpen(left, record.tag);
    SHARDSCOPE_TRY(out.plan, planRepair(files, record.source, open, again, job, shared));
    return out;
}

} // namespace shardscope
