// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/peer_processes.h"

#include "app/cli/frame/exit.h"
#include "core/peers/mpi_peers.h"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

namespace shardscope::cli {

Status refuseCopies(const Parsed& parsed)
{
    const auto launched = launchedProcess(true);
    if (!launched || launched->rank == 0 || parsed.arguments.has("--mpi") || parsed.arguments.has("--part")
        || parsed.arguments.has("--partial") || parsed.command->name == "ensure")
        return {};
    const std::string count = std::to_string(launched->size);
    const bool shares
        = std::ranges::find(parsed.command->options, "--mpi", &Option::name) != parsed.command->options.end();
    return fail(ErrorCode::Usage,
        "this is process " + std::to_string(launched->rank) + " of " + count
            + ", and each would run the whole command again",
        {},
        shares ? "share the work with " + Hint::command("--mpi " + parsed.command->name + " …")
                + ", or start one process"
               : "start one process, or call it from a script");
}

Result<std::unique_ptr<Peers>> joinAsked(const Arguments& arguments)
{
    if (!arguments.has("--mpi"))
        return std::unique_ptr<Peers>();
    return joinMpi();
}

namespace {

/// What this process prints is printed by the first one, too.
void dropOutput()
{
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
        (void)::dup2(nothing, stream);
    ::close(nothing);
}

} // namespace

Result<int> runWithPeers(
    Session& session, Peers& peers, const std::function<Result<int>(Session& session)>& verb)
{
    if (peers.rank() > 0)
        dropOutput();
    SharedWork shared(peers);
    session.setShared(&shared);
    const Result<int> code = verb(session);
    const Status ended = shared.end(code ? Status() : forward(code.error()));
    if (peers.rank() > 0)
        return kExitDone; // a launcher may end all when one fails, and the first one has to answer
    SHARDSCOPE_CHECK(ended);
    return code;
}

bool isSilentPeer()
{
    const auto launched = launchedProcess(false);
    return launched && launched->rank > 0;
}

} // namespace shardscope::cli
