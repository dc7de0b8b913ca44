// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/byte_facts.h"

#include "core/compare/diff/state_diff.h"
#include "core/compare/digest/copies_of_masters.h"

#include <map>
#include <string_view>
#include <utility>

namespace shardscope {

namespace {

/// From the scan; tensors that it did not read completely are read again, for the number of missing elements.
Result<std::vector<TensorStatistics>> statisticsOf(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const CheckpointScan& scan, unsigned jobs, JobContext& job)
{
    const TensorTable table(checkpoint);
    std::map<std::pair<ParamId, std::string_view>, uint32_t> numbers;
    for (uint32_t i = 0; i < table.size(); ++i) {
        const TensorTable::Entry entry = table.entry(i);
        numbers.emplace(std::pair(entry.param, entry.state), i);
    }
    std::vector<TensorStatistics> out;
    std::vector<TensorAsked> unread;
    std::vector<size_t> unreadAt;
    for (const TensorAsked& asked : allTensors(*checkpoint)) {
        TensorStatistics statistics;
        statistics.tensor = asked;
        statistics.elements = checkpoint->params[index(asked.param)].elements;
        if (const auto number = numbers.find({asked.param, asked.state}); number != numbers.end()) {
            statistics.dtype = table.entry(number->second).dtype;
            statistics.found = scan.statistics[number->second];
        }
        if (statistics.found.elements != statistics.elements) {
            unread.push_back(asked);
            unreadAt.push_back(out.size());
        }
        out.push_back(std::move(statistics));
    }
    size_t next = 0;
    SHARDSCOPE_CHECK(computeStatistics(files, {*checkpoint, unread, true}, {jobs, plainBackend()}, job,
        [&](TensorStatistics found) -> Status {
            found.histogram = {};
            out[unreadAt[next++]] = std::move(found);
            return {};
        }));
    return out;
}

/// Masters that round to their copies are known from the scan; the others are read again.
Result<std::vector<std::string>> staleCopiesOf(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const CheckpointScan& scan, const Workers& workers, JobContext& job)
{
    const TensorTable table(checkpoint);
    DiffOptions options;
    options.states = {"fp32"};
    options.params = CopiesOfMasters(*checkpoint, table).unlikeCopies(table, scan);
    options.workers = workers;
    if (options.params.empty())
        return std::vector<std::string>();
    job.beginPhase("comparing masters with their copies", 0);
    // Compared with itself: the only differences are between masters and their copies.
    SHARDSCOPE_TRY(StateDiff diff, diffStates(files, *checkpoint, *checkpoint, options, job));
    return std::move(diff.staleCopiesLeft);
}

} // namespace

Result<std::shared_ptr<const ByteFacts>> readByteFacts(
    io::FileSystem& files, const CheckpointPtr& checkpoint, const Workers& workers, JobContext& job)
{
    auto facts = std::make_shared<ByteFacts>();
    job.beginPhase("reading records and values", 0);
    const ScanOptions scanOptions{.digest = io::DigestKind::None, .statistics = true, .roundedMasters = true};
    SHARDSCOPE_TRY(facts->scan, scanCheckpoint(files, checkpoint, workers, scanOptions, job));
    if (checkpoint->modelError)
        return facts;
    SHARDSCOPE_TRY(facts->tensors, statisticsOf(files, checkpoint, facts->scan, workers.jobs, job));
    SHARDSCOPE_TRY(facts->staleCopies,
        staleCopiesOf(files, checkpoint, facts->scan, {workers.jobs, *workers.backend}, job));
    return facts;
}

} // namespace shardscope
