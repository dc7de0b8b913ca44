// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/mpi_job.h"

#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "core/engine/write/crew.h"
#include "core/peers/mpi_peers.h"

namespace shardscope::cli {

Status refuseCopies(const Parsed& parsed)
{
    const auto launched = launchedProcess(true);
    if (!launched || launched->rank == 0 || parsed.arguments.has("--mpi") || parsed.arguments.has("--part")
        || parsed.command->name == "ensure")
        return {};
    const std::string count = std::to_string(launched->size);
    return fail(ErrorCode::Usage,
        "this is process " + std::to_string(launched->rank) + " of " + count
            + ", and each would run the whole command again",
        {}, "share the work with `shardscope --mpi " + parsed.command->name + " …`, or start one process");
}

Result<std::unique_ptr<Peers>> joinAsked(const Arguments& arguments)
{
    if (!arguments.has("--mpi"))
        return std::unique_ptr<Peers>();
    return joinMpi();
}

Result<int> serveAsPeer(const Session& session, Peers& peers)
{
    CrewOptions options;
    SHARDSCOPE_TRY(options.jobs, jobsAsked(session.arguments()));
    options.memoryLimitBytes = session.arguments().size("--memory-limit").value_or(options.memoryLimitBytes);
    options.chooseCompute
        = [&](uint64_t bytes) { return computeAsked(session, ComputeTask::Transform, bytes, options.jobs); };
    SHARDSCOPE_CHECK(serveCrew(session.files(), peers, options, session.job()));
    return kExitDone;
}

bool isSilentPeer()
{
    const auto launched = launchedProcess(false);
    return launched && launched->rank > 0;
}

} // namespace shardscope::cli
