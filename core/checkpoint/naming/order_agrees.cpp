// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/model/param_order.h"
#include "core/checkpoint/units/weight_samples.h"

#include <algorithm>
#include <map>
#include <memory>

namespace shardscope {

namespace {

constexpr uint32_t kParamsPerUnit = 16;
constexpr uint64_t kElements = 8; ///< per parameter: one small read

/// Counts parameters, not elements. A parameter with a sample that does not match is stored elsewhere.
struct OrderTally {
    uint32_t compared = 0;
    uint32_t misplaced = 0;
};

class OrderSampler
{
public:
    OrderSampler(const Reading& reading, WeightSamples& samples)
        : m_reading(reading)
        , m_out(reading.out)
        , m_samples(samples)
    {
    }

    OrderTally tally(const ParamOrder& order)
    {
        OrderTally out;
        for (uint32_t u = 0; u < m_out.units.size(); ++u) {
            const FlatUnit& unit = m_out.units[u];
            if (unit.states.empty())
                continue;
            const auto count = static_cast<uint32_t>(unit.params.size());
            const uint32_t taken = std::min(count, kParamsPerUnit);
            for (uint64_t i = 0; i < taken && !m_reading.job.cancelled(); ++i)
                sample(order, u, static_cast<uint32_t>(i * count / taken), out);
        }
        return out;
    }

private:
    void sample(const ParamOrder& order, uint32_t u, uint32_t at, OrderTally& out)
    {
        const FlatUnit& unit = m_out.units[u];
        const uint64_t elements = m_out.params[index(unit.params[at])].elements;
        if (elements == 0)
            return;
        const UnitState& masters = unit.states.front();
        const auto place = order.partitions[u].positionOf(order.places[u][at], 0);
        if (place.rank >= masters.perRank.size() || !masters.perRank[place.rank].isPresent())
            return;
        const StoredRun& run = masters.perRank[place.rank];
        const io::ReadFile* shard = open(run.file);
        if (shard == nullptr || place.flatOffset >= run.elements)
            return;
        WeightTally tally;
        m_samples.compare(*shard, run.byteOffset + place.flatOffset * itemSize(masters.dtype), masters.dtype,
            unit.params[at], 0, std::min({elements, kElements, run.elements - place.flatOffset}), tally);
        out.compared += tally.compared > 0 ? 1 : 0;
        out.misplaced += 2 * tally.different > tally.compared ? 1 : 0;
    }

    const io::ReadFile* open(FileId file)
    {
        if (!m_out.isReadable(file))
            return nullptr;
        std::unique_ptr<io::ReadFile>& shard = m_shards[index(file)];
        if (!shard) {
            if (auto opened = m_reading.files.openRead(m_out.file(file).path))
                shard = std::move(*opened);
        }
        return shard.get();
    }

    const Reading& m_reading;
    const Checkpoint& m_out;
    WeightSamples& m_samples;
    std::map<uint32_t, std::unique_ptr<io::ReadFile>> m_shards;
};

} // namespace

bool checkOrderAgrees(const Reading& reading, WeightSamples& samples)
{
    const Checkpoint& out = reading.out;
    OrderSampler sampler(reading, samples);
    const OrderTally listed = sampler.tally(listedOrder(out));
    if (listed.misplaced == 0)
        return false;
    const std::string place = out.file(out.templateModel).name;
    const std::string evidence = std::to_string(listed.misplaced) + " of " + std::to_string(listed.compared)
        + " sampled parameters do not have the values of their copies where `param_shapes` places them";
    struct Known {
        Result<ParamOrder> order;
        const char* name;
    };
    if (roundRobinMatters(out)) {
        const Known known[] = {
            {orderBeforeRoundRobin(out), "the order without round_robin_gradients"},
            {orderAfterRoundRobin(out), "the order that round_robin_gradients gives"},
        };
        for (const auto& [order, name] : known) {
            const OrderTally other = order ? sampler.tally(*order) : OrderTally{};
            if (other.compared < 2 || other.misplaced > 0)
                continue;
            reading.add(code::kParamOrder, Severity::Error,
                "the optimizer files do not hold their parameters in the order that `param_shapes` records, "
                "but in "
                    + std::string(name),
                place, {evidence, "all " + std::to_string(other.compared) + " have them in that order"});
            return true;
        }
    }
    if (!out.roundRobin || 2 * listed.misplaced <= listed.compared)
        return false;
    reading.add(code::kParamOrder, Severity::Error,
        "the optimizer files do not hold their parameters in the order that `param_shapes` records, nor in "
        "another order of DeepSpeed",
        place, {evidence});
    return true;
}

} // namespace shardscope
