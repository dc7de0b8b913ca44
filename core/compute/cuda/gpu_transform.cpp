// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/gpu_transform.h"

#include "core/tensor/weighted_words.h"

#include <algorithm>
#include <map>

namespace shardscope::compute {

namespace {

/// Words of a sum: the output of a cast, or unchanged from host memory.
struct SumSpan {
    size_t sum = 0;
    uint64_t begin = 0; ///< bytes of the sum
    uint64_t end = 0;
};

uint64_t tilesOf(uint64_t elements)
{
    return (elements + kLongTileElements - 1) / kLongTileElements;
}

/// Finds which cast makes what a sum is of.
class CastsByOutput
{
public:
    explicit CastsByOutput(std::span<const ElementCast> casts)
        : m_casts(casts)
    {
        for (size_t i = 0; i < casts.size(); ++i) {
            if (!casts[i].out.empty())
                m_byOutput.emplace(casts[i].out.data(), i);
        }
    }

    /// Calls `made(cast, span)` for parts that a cast makes and `bare(span)` for the others.
    template <class Made, class Bare>
    void split(const ElementSum& sum, size_t number, Made made, Bare bare) const
    {
        const uint8_t* const begin = sum.bytes.data();
        const uint8_t* const end = begin + sum.bytes.size();
        const auto offset = [begin](const uint8_t* at) { return static_cast<uint64_t>(at - begin); };
        const uint8_t* at = begin;
        auto next = m_byOutput.upper_bound(begin);
        if (next != m_byOutput.begin() && outEnd(std::prev(next)->second) > begin)
            --next;
        for (; next != m_byOutput.end() && next->first < end; ++next) {
            const uint8_t* const from = std::max(at, next->first);
            const uint8_t* const to = std::min(end, outEnd(next->second));
            if (at < from)
                bare(SumSpan{number, offset(at), offset(from)});
            if (from < to)
                made(next->second, SumSpan{number, offset(from), offset(to)});
            at = std::max(at, to);
        }
        if (at < end)
            bare(SumSpan{number, offset(at), offset(end)});
    }

private:
    [[nodiscard]] const uint8_t* outEnd(size_t cast) const
    {
        return m_casts[cast].out.data() + m_casts[cast].out.size();
    }

    std::span<const ElementCast> m_casts;
    std::map<const uint8_t*, size_t> m_byOutput;
};

void addCastUnits(const ElementCast& cast, std::span<const SumSpan> spans, std::span<const ElementSum> sums,
    size_t unitBytes, std::vector<GpuUnit>& out)
{
    const uint64_t inItem = itemSize(cast.from);
    const uint64_t outItem = itemSize(cast.to);
    const uint64_t elements = cast.in.size() / inItem;
    const uint64_t most = std::max<uint64_t>(1, unitBytes / (inItem + outItem));
    for (uint64_t begin = 0; begin < elements; begin += most) {
        const uint64_t count = std::min(most, elements - begin);
        GpuUnit unit{cast.in.subspan(begin * inItem, count * inItem),
            cast.out.subspan(begin * outItem, count * outItem), *gpuFloat(cast.from), *gpuFloat(cast.to), {}};
        for (const SumSpan& span : spans) {
            // Elements of the cast that the span has.
            const auto shift
                = static_cast<uint64_t>(sums[span.sum].bytes.data() + span.begin - cast.out.data());
            const uint64_t first = std::max(begin, shift / outItem);
            const uint64_t end = std::min(begin + count, (shift + span.end - span.begin) / outItem);
            if (first < end)
                unit.parts.push_back({span.sum, (first - begin) * outItem, end - first,
                    span.begin / outItem + (first - shift / outItem)});
        }
        out.push_back(std::move(unit));
    }
}

/// Whether bytes follow those of the last unit, so that one copy serves both.
bool continuesLast(
    const std::vector<GpuUnit>& units, std::span<const uint8_t> bytes, uint64_t item, size_t unitBytes)
{
    if (units.empty() || !units.back().out.empty())
        return false;
    const std::span<const uint8_t> last = units.back().in;
    return last.data() + last.size() == bytes.data() && last.size() + bytes.size() <= unitBytes
        && last.size() % item == 0;
}

void addBareUnits(const ElementSum& sum, const SumSpan& span, size_t unitBytes, std::vector<GpuUnit>& out)
{
    const uint64_t item = sum.itemBytes;
    const auto all = sum.bytes.subspan(span.begin, span.end - span.begin);
    if (continuesLast(out, all, item, unitBytes)) {
        GpuUnit& last = out.back();
        last.parts.push_back({span.sum, last.in.size(), all.size() / item, span.begin / item});
        last.in = {last.in.data(), last.in.size() + all.size()};
        return;
    }
    const uint64_t most = std::max<uint64_t>(1, unitBytes / item);
    for (uint64_t begin = span.begin / item; begin < span.end / item; begin += most) {
        const uint64_t count = std::min(most, span.end / item - begin);
        GpuUnit unit;
        unit.in = sum.bytes.subspan(begin * item, count * item);
        unit.parts.push_back({span.sum, 0, count, begin});
        out.push_back(std::move(unit));
    }
}

/// The work of one call to the GPU.
struct Batch {
    struct Output {
        std::span<uint8_t> host;
        const uint8_t* device;
    };
    std::vector<CastTile> casts;
    std::vector<SumTile> sums;
    std::vector<size_t> sumOf; ///< for each of `sums`
    std::vector<Output> outputs;
    std::vector<TileSum> found;
};

/// Memory that a unit takes, its tiles and their answers included.
size_t bytesFor(const GpuUnit& unit)
{
    const size_t casts = unit.out.empty() ? 0 : tilesOf(unit.in.size()); // an element has at least one byte
    size_t sums = 0;
    for (const GpuUnit::Part& part : unit.parts)
        sums += tilesOf(part.words);
    return GpuMemory::aligned(unit.in.size()) + GpuMemory::aligned(unit.out.size()) + casts * sizeof(CastTile)
        + sums * (sizeof(SumTile) + sizeof(TileSum));
}

Status addUnit(GpuLane& lane, const GpuUnit& unit, std::span<const ElementSum> sums, Batch& batch)
{
    uint8_t* const in = lane.memory().take(unit.in.size());
    uint8_t* const made = unit.out.empty() ? in : lane.memory().take(unit.out.size());
    if (in == nullptr || made == nullptr)
        return fail(ErrorCode::Internal, "a unit of work does not fit the memory that was reserved for it");
    SHARDSCOPE_CHECK(lane.upload(in, unit.in));
    if (!unit.out.empty()) {
        const size_t inItem = kGpuItemBytes[static_cast<size_t>(unit.from)];
        const size_t outItem = kGpuItemBytes[static_cast<size_t>(unit.to)];
        const uint64_t elements = unit.out.size() / outItem;
        for (uint64_t at = 0; at < elements; at += kLongTileElements)
            batch.casts.push_back({in + at * inItem, made + at * outItem, unit.from, unit.to,
                static_cast<uint32_t>(std::min<uint64_t>(kLongTileElements, elements - at))});
        batch.outputs.push_back({unit.out, made});
    }
    for (const GpuUnit::Part& part : unit.parts) {
        const ElementSum& sum = sums[part.sum];
        for (uint64_t at = 0; at < part.words; at += kLongTileElements) {
            batch.sums.push_back({made + part.firstByte + at * sum.itemBytes, sum.first + part.inSum + at,
                sum.order ? sum.order->rows : 0, sum.order ? sum.order->columns : 0, sum.itemBytes,
                static_cast<uint32_t>(std::min<uint64_t>(kLongTileElements, part.words - at))});
            batch.sumOf.push_back(part.sum);
        }
    }
    return {};
}

void addFound(const Batch& batch, std::span<ElementSum> sums)
{
    for (size_t i = 0; i < batch.found.size(); ++i) {
        ElementSum& sum = sums[batch.sumOf[i]];
        const auto& lanes = batch.found[i].lanes;
        sum.digest += digestOfSums(sum.key, {{lanes[0], lanes[1]}}, batch.sums[i].elements);
    }
}

Status runBatch(GpuLane& lane, Batch& batch, std::span<ElementSum> sums)
{
    GpuQueue& queue = lane.queue();
    if (!batch.casts.empty()) {
        auto* const tiles = lane.memory().takeOf<CastTile>(batch.casts.size());
        SHARDSCOPE_CHECK(lane.uploadAll(tiles, batch.casts));
        SHARDSCOPE_CHECK(queue.cast(tiles, batch.casts.size()));
    }
    batch.found.resize(batch.sums.size());
    if (!batch.sums.empty()) {
        auto* const tiles = lane.memory().takeOf<SumTile>(batch.sums.size());
        auto* const found = lane.memory().takeOf<TileSum>(batch.sums.size());
        SHARDSCOPE_CHECK(lane.uploadAll(tiles, batch.sums));
        SHARDSCOPE_CHECK(queue.sum(tiles, found, batch.sums.size()));
        SHARDSCOPE_CHECK(lane.downloadAll(batch.found, found));
    }
    for (const Batch::Output& output : batch.outputs)
        SHARDSCOPE_CHECK(lane.download(output.host, output.device));
    SHARDSCOPE_CHECK(lane.finish());
    addFound(batch, sums);
    return {};
}

} // namespace

std::optional<GpuFloat> gpuFloat(DType dtype)
{
    switch (dtype) {
    case DType::Float64:
        return GpuFloat::F64;
    case DType::Float32:
        return GpuFloat::F32;
    case DType::Float16:
        return GpuFloat::F16;
    case DType::BFloat16:
        return GpuFloat::BF16;
    case DType::Float8E4M3:
        return GpuFloat::F8E4M3;
    case DType::Float8E5M2:
        return GpuFloat::F8E5M2;
    default:
        return std::nullopt;
    }
}

std::vector<GpuUnit> divideWork(
    std::span<const ElementCast> casts, std::span<const ElementSum> sums, size_t unitBytes)
{
    std::vector<GpuUnit> out;
    std::vector<std::vector<SumSpan>> ofCast(casts.size());
    const CastsByOutput byOutput(casts);
    for (size_t i = 0; i < sums.size(); ++i) {
        byOutput.split(
            sums[i], i, [&](size_t cast, const SumSpan& span) { ofCast[cast].push_back(span); },
            [&](const SumSpan& span) { addBareUnits(sums[i], span, unitBytes, out); });
    }
    for (size_t i = 0; i < casts.size(); ++i)
        addCastUnits(casts[i], ofCast[i], sums, unitBytes, out);
    return out;
}

Status runUnits(GpuLane& lane, std::span<const GpuUnit> units, std::span<ElementSum> sums)
{
    for (size_t first = 0; first < units.size();) {
        lane.begin();
        Batch batch;
        // Of the three lists of tiles each is aligned once.
        size_t used = 3 * GpuMemory::kAlign;
        size_t end = first;
        for (; end < units.size(); ++end) {
            used += bytesFor(units[end]);
            if (end > first && used > lane.capacity())
                break;
            SHARDSCOPE_CHECK(addUnit(lane, units[end], sums, batch));
        }
        SHARDSCOPE_CHECK(runBatch(lane, batch, sums));
        first = end;
    }
    return {};
}

} // namespace shardscope::compute
