// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/reshard_preview.h"

#include "core/checkpoint/model/checkpoint.h"
#include "core/engine/write/preflight.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/reshard/planned_checkpoint.h"
#include "ui/jobs/free_later.h"
#include "ui/models/whole_groups.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// The rules of a run, and that a path typed into a field is a whole one.
Status checkDestination(io::FileSystem& files, const Checkpoint& source, const io::Path& destination)
{
    if (destination.empty())
        return fail(ErrorCode::Usage, "Choose the folder to write to.");
    if (!isWholePath(destination))
        return fail(ErrorCode::Usage, "The target folder must be an absolute path.", destination.native());
    return checkPlaces(files, destination, source.runFolder);
}

Result<WritePlanPtr> planFor(
    io::FileSystem& files, const CheckpointPtr& source, const ReshardWish& wish, JobContext& job)
{
    ReshardOptions options = wish.options;
    if (!wish.patternsFile.empty()) {
        SHARDSCOPE_TRY(options.patterns, files.readSmall(wish.patternsFile, kPatternsLimitBytes));
    }
    return planReshard(files, source, options, job);
}

} // namespace

ReshardPreview previewOf(
    io::FileSystem& files, const CheckpointPtr& source, const ReshardWish& wish, const std::stop_token& token)
{
    ReshardPreview preview;
    JobContext job(token);
    auto plan = planFor(files, source, wish, job);
    if (!plan) {
        preview.problem = std::move(plan).error();
        return preview;
    }
    preview.plan = freedOnWorker(std::move(*plan));
    preview.target = plannedCheckpoint(*preview.plan);
    preview.subGroups = subGroupsOf(*preview.target);
    preview.load = rankLoad(*preview.target);
    if (hasSubGroups(*preview.target))
        preview.target = withWholeGroups(*preview.target);
    preview.target = freedOnWorker(preview.target);
    preview.looks = freedOnWorker(mapLooks(*preview.target));
    if (auto places = checkDestination(files, *source, wish.target); !places) {
        preview.problem = std::move(places).error();
        return preview;
    }
    preview.folder = wish.target;
    examineFolder(files, source->runFolder, wish, job, preview);
    return preview;
}

QString commandOf(const SourceWords& source, const ReshardWish& wish)
{
    ReshardOptions options = wish.options;
    const bool universal = options.form == TargetForm::Universal;
    ShellCommand command(universal ? u"convert"_s : u"reshard"_s, source);
    command.argument(wish.target.native());
    if (universal)
        command.option(u"--to"_s, u"universal"_s);
    return commandText(command, fieldsOf(options), wish);
}

} // namespace shardscope::ui
