// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/base/peers.h"

#include <functional>
#include <memory>

namespace shardscope::cli {

/// Usage for a process that a launcher started as one of many, other than the first, and that did not get
/// --mpi: it would run the same command again. Not for `ensure` and --part, which are made for it, nor for
/// processes that a script under a launcher starts.
Status refuseCopies(const Parsed& parsed);
/// The MPI job of a process with --mpi; null without it. Errors: those of joinMpi().
Result<std::unique_ptr<Peers>> joinAsked(const Arguments& arguments);
/// Runs the command of the session, as all processes do: Session::shared(). Only the first one writes to the
/// standard streams.
Result<int> runWithPeers(
    Session& session, Peers& peers, const std::function<Result<int>(Session& session)>& verb);
/// Whether this process is not the first one of those that a launcher started. With --mpi it does not talk to
/// the user.
bool isSilentPeer();

} // namespace shardscope::cli
