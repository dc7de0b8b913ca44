// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/compute_device.h"

#include "core/base/parallel.h"

namespace shardscope::cli {

namespace {

constexpr uint64_t kMaxJobs = 1024;
constexpr uint64_t kMinDeviceMemory = uint64_t{32} << 20;

} // namespace

Result<unsigned> jobsAsked(const Arguments& arguments)
{
    if (!arguments.has("--jobs"))
        return defaultJobs();
    const uint64_t jobs = arguments.count("--jobs").value_or(0);
    if (jobs == 0 || jobs > kMaxJobs)
        return fail(ErrorCode::Usage, "--jobs must be between 1 and " + std::to_string(kMaxJobs));
    return static_cast<unsigned>(jobs);
}

Result<ComputeChoice> computeAsked(const Session& session, ComputeTask task, uint64_t bytes, unsigned jobs)
{
    const Arguments& arguments = session.arguments();
    DeviceAsked asked;
    if (arguments.has("--device")) {
        SHARDSCOPE_TRY(asked, parseDevice(arguments.text("--device")));
    }
    asked.cuda.memoryBytes = arguments.size("--device-memory").value_or(asked.cuda.memoryBytes);
    if (asked.cuda.memoryBytes < kMinDeviceMemory)
        return fail(ErrorCode::Usage, "--device-memory must be at least 32M");
    SHARDSCOPE_TRY(ComputeChoice choice,
        chooseCompute(asked, {.task = task, .bytes = bytes, .jobs = jobs}, session.files(),
            session.mayWrite() ? userRateMemory() : io::Path()));
    session.job().log("compute device: " + choice.backend->device() + ", " + choice.backend->name() + " ("
        + choice.reason + ")");
    return choice;
}

uint64_t bytesOf(const Checkpoint& checkpoint)
{
    uint64_t bytes = 0;
    for (const CheckpointFile& file : checkpoint.files)
        bytes += file.identity.bytes;
    return bytes;
}

} // namespace shardscope::cli
