// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/universal/universal_order.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/units/weight_samples.h"
#include "core/checkpoint/universal/universal.h"
#include "core/partition/round_robin.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <limits>

namespace shardscope {

OverlookedOrder::OverlookedOrder(const FlatUnit& unit, uint32_t ranks)
    : m_listed(unit.partition)
    , m_positions(unit.params.size())
{
    const auto count = static_cast<uint32_t>(unit.params.size());
    const std::vector<uint32_t> places = roundRobinOrder(count, ranks);
    std::vector<uint64_t> elements(count);
    for (uint32_t position = 0; position < count; ++position) {
        m_positions[places[position]] = position;
        elements[places[position]] = m_listed.paramElements(position);
    }
    if (auto converted
        = FlatPartition::contiguous(std::move(elements), 1, 1)) // the same elements as the unit
        m_converted = std::move(*converted);
}

std::vector<MovedRun> OverlookedOrder::runsOf(uint32_t position) const
{
    std::vector<MovedRun> out;
    const uint64_t begin = m_listed.paramStart(position);
    m_converted.forEachPiece(0, begin, begin + m_listed.paramElements(position), [&](const FlatPiece& piece) {
        out.push_back({m_positions[piece.param], piece.paramOffset, piece.elements});
        return true;
    });
    return out;
}

std::optional<uint32_t> convertedRanks(const Checkpoint& universal)
{
    const TorchFile* model = universal.templateModel == kNoFile
        ? nullptr
        : universal.file(universal.templateModel).content.get();
    if (model == nullptr)
        return std::nullopt;
    const PickleGraph& graph = model->pickle();
    const auto ranks = asInteger(graph, lookup(graph, graph.root(), "dp_world_size"));
    return ranks && *ranks > 1 && *ranks < std::numeric_limits<uint32_t>::max()
        ? std::optional(static_cast<uint32_t>(*ranks))
        : std::nullopt;
}

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
    std::vector<Place> parts;
    for (const ParamId param : own.bad)
        parts.emplace_back(ParamAddress{out.params[index(param)].name, "fp32"});
    const Place where = parts.front();
    std::vector<std::string> evidence{std::to_string(own.bad.size()) + " of " + std::to_string(own.sampled)
        + " parameters that were sampled"};
    const auto ranks = convertedRanks(out);
    const Tally moved = ranks ? sampler.tally(*ranks) : Tally{};
    if (moved.bad.empty() && moved.moved > 0 && moved.sampled >= own.bad.size()) {
        evidence.push_back("all " + std::to_string(moved.sampled)
            + " have them where a converter finds them that overlooks round_robin_gradients at "
            + std::to_string(*ranks) + " ranks");
        reading.add(code::kUniversalRoundRobin, Severity::Error,
            "masters are in the files of other parameters: DeepSpeed's converter overlooked that the run had "
            "round_robin_gradients on",
            where, std::move(evidence));
    } else {
        reading.add(code::kUniversalSource, Severity::Error,
            "masters do not match the model file's copies: they belong to other parameters or another step",
            where, std::move(evidence));
    }
    reading.out.findings.back().parts = std::move(parts);
}

} // namespace shardscope
