// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/work_place.h"

#include "core/base/text.h"
#include "core/engine/stream/memory_plan.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/work_folder.h"

namespace shardscope {

Result<io::Path> workPlaceOf(io::FileSystem& files, const WritePlan& plan, const io::Path& destination)
{
    const io::Path target = destination / plan.targetName;
    if (plan.outcome != OutcomeKind::Export)
        return destination;
    SHARDSCOPE_TRY(const bool there, exists(files, target));
    if (!there)
        return destination;
    SHARDSCOPE_TRY(const io::FileInfo info, files.stat(target));
    if (info.type != io::FileType::Directory)
        return destination;
    const auto begun = files.stat(WorkFolder::pathFor(plan, destination));
    if (!begun && begun.error().code != ErrorCode::NotFound)
        return forward(begun.error());
    return begun && begun->identity.device == info.identity.device ? destination : target;
}

Status checkJob(io::FileSystem& files, const WritePlan& plan, const ExecuteOptions& options)
{
    SHARDSCOPE_CHECK(checkPlanNames(plan));
    if (options.memoryLimitBytes < MemoryPlan::kMin)
        return fail(ErrorCode::Usage, "the memory limit must be at least " + formatBytes(MemoryPlan::kMin));
    return checkTargetPlaces(files, plan, options.destination, options.sourceRunFolder);
}

Status checkSourcesAsPlanned(io::FileSystem& files, const WritePlan& plan)
{
    std::vector<io::Path> paths; // in one call: on another host each call waits for the line
    paths.reserve(plan.sources.size());
    for (const PlanSource& source : plan.sources)
        paths.push_back(source.path);
    const std::vector<Result<io::FileInfo>> found = files.statAll(paths);
    for (size_t i = 0; i < found.size(); ++i) {
        SHARDSCOPE_CHECK(found[i]);
        if (found[i]->identity != plan.sources[i].identity)
            return fail(ErrorCode::SourceChanged, "the source file changed since the plan was made",
                paths[i].string(), "make a new plan");
    }
    return {};
}

} // namespace shardscope
