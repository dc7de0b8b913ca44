// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/byte_facts.h"

#include "core/compare/diff/state_diff.h"

namespace shardscope {

Result<std::shared_ptr<const ByteFacts>> readByteFacts(
    io::FileSystem& files, const CheckpointPtr& checkpoint, unsigned jobs, JobContext& job)
{
    auto facts = std::make_shared<ByteFacts>();
    const ComputeBackend& backend = plainBackend();
    job.beginPhase("reading records", 0);
    SHARDSCOPE_TRY(
        facts->scan, scanCheckpoint(files, checkpoint, {jobs, backend}, {.digest = io::DigestKind::None}, job));
    if (checkpoint->modelError)
        return facts;
    job.beginPhase("reading values", 0);
    const std::vector<TensorAsked> tensors = allTensors(*checkpoint);
    SHARDSCOPE_CHECK(computeStatistics(
        files, {*checkpoint, tensors, true}, {jobs, backend}, job, [&](TensorStatistics found) -> Status {
            found.histogram = {};
            facts->tensors.push_back(std::move(found));
            return {};
        }));
    job.beginPhase("comparing masters with their copies", 0);
    DiffOptions options;
    options.states = {"fp32"};
    options.workers = {jobs, backend};
    // Compared with itself: the only differences are between masters and their copies.
    SHARDSCOPE_TRY(StateDiff diff, diffStates(files, *checkpoint, *checkpoint, options, job));
    facts->staleCopies = std::move(diff.staleCopiesLeft);
    return facts;
}

} // namespace shardscope
