// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/universal.h"
#include "core/checkpoint/weight_samples.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kSample = 64; ///< elements of one parameter: one small read of its file
constexpr size_t kMostSampled = 16; ///< parameters of one group

/// The parameters of a group, evenly spaced, whose masters are not the values of their copies.
void sampleGroup(const Reading& reading, WeightSamples& samples, const FlatUnit& unit,
    std::vector<ParamId>& bad, size_t& sampled)
{
    const UnitState& masters = unit.states.front();
    const size_t stride = unit.params.size() / kMostSampled + 1;
    for (size_t i = 0; i < masters.perParam.size() && !reading.job.cancelled(); i += stride) {
        const StoredRun& run = masters.perParam[i];
        if (!run.isPresent() || reading.out.wholeOf(unit.params[i]) == nullptr)
            continue;
        const auto file = reading.files.openRead(reading.out.file(run.file).path);
        if (!file) {
            samples.noteUnreadable(file.error());
            continue;
        }
        WeightTally tally;
        samples.compare(
            **file, run.byteOffset, masters.dtype, unit.params[i], 0, std::min(run.elements, kSample), tally);
        sampled += tally.compared >= WeightTally::kLeast ? 1 : 0;
        if (tally.isBad())
            bad.push_back(unit.params[i]);
    }
}

} // namespace

void checkUniversalAgrees(const Reading& reading)
{
    const Checkpoint& out = reading.out;
    if (!out.isReadable(out.rank0Model) || reading.hasNoValues())
        return;
    WeightSamples samples(reading);
    std::vector<ParamId> bad;
    size_t sampled = 0;
    for (const FlatUnit& unit : out.units) {
        if (unit.kind == UnitKind::Whole && !unit.states.empty())
            sampleGroup(reading, samples, unit, bad, sampled);
    }
    if (bad.empty())
        return;
    reading.add(code::kUniversalSource, Severity::Error,
        "masters are not the values of the model file's copies: they belong to other parameters or another "
        "step",
        percentEncode(out.params[index(bad.front())].name) + "#fp32",
        {std::to_string(bad.size()) + " of " + std::to_string(sampled) + " parameters that were sampled",
            "DeepSpeed's converter scrambles checkpoints of runs with round_robin_gradients without a word; "
            "`shardscope convert` does not"});
}

} // namespace shardscope
