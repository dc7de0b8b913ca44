// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/peers: the processes of one job, connected by MPI. Only a module that is loaded on request links
// an MPI library (core/peers/mpi). Start with joinMpi().

#include "core/base/peers.h"

#include <memory>
#include <optional>
#include <string>

namespace shardscope {

/// The place of this process among those that a launcher (mpirun, mpiexec, srun) has started together.
struct LaunchedProcess {
    uint32_t rank = 0;
    uint32_t size = 1;
};

/// By the launcher's environment; none if there is no launcher. `direct`: only if the launcher is the parent
/// of this process, so that a program started by a training script is none.
std::optional<LaunchedProcess> launchedProcess(bool direct);

/// Joins the MPI job of this process: all of its processes must call it, once. Destroying the result leaves
/// the job. Unsupported, with the reason, without a module for the launcher's MPI.
Result<std::unique_ptr<Peers>> joinMpi();

} // namespace shardscope
