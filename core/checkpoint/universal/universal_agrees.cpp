// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal/universal_agrees.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/units/weight_samples.h"
#include "core/checkpoint/universal/universal.h"
#include "core/checkpoint/universal/universal_order.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kSample = 64; ///< elements of one parameter: one small read of its file
constexpr size_t kMaxSampled = 16; ///< parameters of one group

/// Where masters are stored, according to samples of evenly spaced parameters.
struct Tally {
    std::vector<ParamId> bad; ///< parameters with masters that differ from their copies
    size_t sampled = 0;
    size_t moved = 0; ///< parameters that this layout places in other files
};

class MasterSampler
{
public:
    explicit MasterSampler(const Reading& reading)
        : m_reading(reading)
        , m_samples(reading)
    {
    }

    /// Samples one layout. `ranks`: that of a converter that ignored the order of this number of ranks. 0:
    /// each parameter in its own files.
    Tally tally(uint32_t ranks)
    {
        Tally out;
        for (const FlatUnit& unit : m_reading.out.units) {
            if (unit.kind != UnitKind::Whole || unit.states.empty())
                continue;
            const OverlookedOrder order(unit, std::max(ranks, 1U));
            const UnitState& masters = unit.states.front();
            const size_t stride = unit.params.size() / kMaxSampled + 1;
            for (size_t i = 0; i < masters.map().tensors().size() && !m_reading.job.cancelled(); i += stride)
                sample(unit, order, static_cast<uint32_t>(i), out);
        }
        return out;
    }

private:
    void sample(const FlatUnit& unit, const OverlookedOrder& order, uint32_t position, Tally& out)
    {
        const UnitState& masters = unit.states.front();
        const std::vector<MovedRun> runs = order.runsOf(position);
        if (runs.empty() || m_reading.out.wholeOf(unit.params[position]) == nullptr)
            return;
        WeightTally tally;
        uint64_t begin = 0;
        for (const MovedRun& moved : runs) {
            const StoredRun* run = masters.tensorOf(moved.position);
            const uint64_t count = std::min(moved.elements, kSample);
            if (run == nullptr || moved.first + count > run->elements)
                return;
            const auto file = m_reading.files.openRead(m_reading.out.file(run->file).path);
            if (!file) {
                m_samples.noteUnreadable(file.error());
                return;
            }
            m_samples.compare(**file, run->byteOffset + moved.first * itemSize(masters.dtype), masters.dtype,
                unit.params[position], begin, count, tally);
            begin += moved.elements;
        }
        out.sampled += tally.compared >= WeightTally::kMin ? 1 : 0;
        out.moved += runs.size() > 1 || runs.front().position != position ? 1 : 0;
        if (tally.isBad())
            out.bad.push_back(unit.params[position]);
    }

    const Reading& m_reading;
    WeightSamples m_samples;
};

} // namespace

void checkUniversalAgrees(const Reading& reading)
{
    const Checkpoint& out = reading.out;
    if (!out.isReadable(out.templateModel) || reading.hasNoValues())
        return;
    MasterSampler sampler(reading);
    const Tally own = sampler.tally(0);
    if (own.bad.empty())
        return;
    const Place where = ParamAddress{out.params[index(own.bad.front())].name, "fp32"};
    std::vector<std::string> evidence{std::to_string(own.bad.size()) + " of " + std::to_string(own.sampled)
        + " parameters that were sampled"};
    const auto ranks = convertedRanks(out);
    const Tally moved = ranks ? sampler.tally(*ranks) : Tally{};
    if (moved.bad.empty() && moved.moved > 0 && moved.sampled >= own.bad.size()) {
        evidence.push_back("all " + std::to_string(moved.sampled)
            + " have them where a converter finds them that overlooks round_robin_gradients at "
            + std::to_string(*ranks) + " ranks");
        return reading.add(code::kUniversalRoundRobin, Severity::Error,
            "masters are in the files of other parameters: DeepSpeed's converter overlooked that the run had "
            "round_robin_gradients on",
            where, std::move(evidence));
    }
    reading.add(code::kUniversalSource, Severity::Error,
        "masters do not match the model file's copies: they belong to other parameters or another step",
        where, std::move(evidence));
}

} // namespace shardscope
