// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/repair_preview.h"

#include "ui/jobs/free_later.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PlanPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const io::Path& target, const std::stop_token& token)
{
    JobContext job(token);
    PlanPreview preview;
    auto plan = planRepair(files, place.path, place.open, options, job);
    if (!plan) {
        preview.problem = std::move(plan).error();
        return preview;
    }
    preview.plan = freedOnWorker(std::move(*plan));
    if (!isWholePath(target)) {
        preview.problem = Error{
            ErrorCode::Usage, "The folder of the copy must be an absolute path.", target.native(), {}};
        return preview;
    }
    preview.folder = target;
    examineFolder(files, preview.plan->repair->source->runFolder, {}, job, preview);
    if (preview.problem && preview.problem->code == ErrorCode::TargetExists)
        preview.problem->hint = "Choose another folder.";
    return preview;
}

std::optional<RepairOutlook> outlookOf(io::FileSystem& files, const CheckPlace& place,
    const std::string& code, CheckDepth most, const std::stop_token& token)
{
    JobContext job(token);
    RepairOptions options;
    options.fixes = {code};
    options.depth = CheckDepth::Metadata;
    auto plan = planRepair(files, place.path, place.open, options, job);
    if (!plan && plan.error().code == ErrorCode::NotFound && most == CheckDepth::Bytes) {
        options.depth = most; // a check that read more has found them
        plan = planRepair(files, place.path, place.open, options, job);
    }
    if (plan)
        return RepairOutlook();
    Error why = std::move(plan).error();
    if (why.code == ErrorCode::NotFound || why.code == ErrorCode::Cancelled)
        return std::nullopt;
    why.path.clear(); // of the checkpoint on screen
    return RepairOutlook{errorText(why), why.code != ErrorCode::Unsupported};
}

QString repairCommand(const CheckPlace& place, const RepairOptions& options, const QString& target)
{
    CheckPlace named = place;
    named.open.salvage = false; // `repair` has no --donor
    ShellCommand command(u"repair"_s, sourceWords(named));
    command.argument(target.isEmpty() ? u"DST"_s : target);
    RepairOptions asked = options;
    return command.options(fieldsOf(asked)).text();
}

QString changeText(const RepairChange& change)
{
    QString text = sentenceText(change.what);
    if (!change.before.empty() || !change.after.empty())
        text += u": "_s % toText(change.before) % u" → "_s % toText(change.after);
    if (!change.where.isEmpty())
        text += u"  ["_s % placeText(change.where) % u']';
    if (change.reconstructed)
        text += u"  "_s % u"(reconstructed, and marked so)"_s;
    return text;
}

} // namespace shardscope::ui
