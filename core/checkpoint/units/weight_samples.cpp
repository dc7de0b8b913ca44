// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/weight_samples.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/model/param_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace shardscope {

std::optional<double> roundingOf(DType dtype, double value)
{
    switch (dtype) {
    case DType::BFloat16:
        return std::ldexp(std::abs(value), -7);
    case DType::Float16:
        return std::max(std::ldexp(std::abs(value), -10), std::ldexp(1.0, -24));
    case DType::Float32:
        return 0.0;
    default:
        return std::nullopt;
    }
}

void WeightSamples::compare(const io::ReadFile& shard, uint64_t byte, DType masterType, ParamId param,
    uint64_t begin, uint64_t count, WeightTally& tally)
{
    const WholeTensor* whole = m_reading.out.wholeOf(param);
    if (whole == nullptr || !whole->contiguous || !roundingOf(whole->dtype, 1) || !roundingOf(masterType, 1))
        return;
    const io::ReadFile* copyFile
        = m_reading.out.isReadable(whole->run.file) ? open(whole->run.file) : nullptr;
    if (copyFile == nullptr)
        return;
    const uint64_t masterBytes = itemSize(masterType);
    const uint64_t copyBytes = itemSize(whole->dtype);
    const uint64_t copyAt = whole->run.byteOffset + begin * copyBytes;
    if (m_isPlanning) {
        m_planned.push_back({&shard, byte, count * masterBytes});
        m_planned.push_back({copyFile, copyAt, count * copyBytes});
        tally.compared += count;
        return;
    }
    std::vector<uint8_t> masters(count * masterBytes);
    std::vector<uint8_t> copies(count * copyBytes);
    if (!noted(shard.readAt(byte, masters)) || !noted(copyFile->readAt(copyAt, copies)))
        return;
    for (uint64_t i = 0; i < count; ++i) {
        const double master = elementAsDouble(masterType, masters.data() + i * masterBytes);
        const double copy = elementAsDouble(whole->dtype, copies.data() + i * copyBytes);
        if (!std::isfinite(master) || !std::isfinite(copy))
            continue;
        ++tally.compared;
        if (std::abs(master - copy) > *roundingOf(whole->dtype, master))
            ++tally.different;
    }
}

void WeightSamples::fetch(std::span<const std::unique_ptr<io::HeldFile>> shards)
{
    m_isPlanning = false;
    std::map<const io::ReadFile*, io::HeldFile*> known;
    for (const auto& shard : shards)
        known.emplace(shard.get(), shard.get());
    for (const auto& [id, file] : m_files)
        known.emplace(file.get(), file.get());
    std::vector<io::WantedRange> wanted;
    for (const Planned& planned : std::exchange(m_planned, {}))
        wanted.push_back({known.at(planned.file), planned.offset, planned.bytes});
    io::hold(m_reading.files, wanted);
}

void WeightSamples::noteUnreadable(const Error& error) const
{
    m_reading.add(code::kFileUnreadable, Severity::Error, "some values of the file cannot be read",
        io::Path(error.path).filename().string(), {describe(error)});
}

const io::ReadFile* WeightSamples::open(FileId file)
{
    const auto [entry, isNew] = m_files.try_emplace(index(file));
    if (isNew) {
        auto opened = m_reading.files.openRead(m_reading.out.file(file).path);
        if (opened)
            entry->second = std::make_unique<io::HeldFile>(std::move(*opened));
        else
            noteUnreadable(opened.error());
    }
    return entry->second.get();
}

bool WeightSamples::noted(const Status& read) const
{
    if (!read)
        noteUnreadable(read.error());
    return read.has_value();
}

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
