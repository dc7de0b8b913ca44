// SPDX-License-Identifier: Apache-2.0
// Uses the 16-bit copies as evidence for the masters that they were rounded from.
#include "core/checkpoint/units/weight_samples.h"
#include "core/layout/fragments.h"
#include "core/plan/repair/amended.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace shardscope {

namespace {

constexpr uint64_t kSampleElements = 64; ///< of each parameter: one small read of each file

} // namespace

Status compareWithCopy(const Amended& amended, const Checkpoint& of, ParamId param, uint64_t begin,
    uint64_t end, WeightTally& tally)
{
    const WholeTensor* copy = amended.source->wholeOf(param);
    const auto found = findState(of, param, "fp32");
    if (copy == nullptr || !found || !roundingOf(copy->dtype, 1) || !roundingOf(found->dtype, 1))
        return {};
    std::vector<uint8_t> masters((end - begin) * itemSize(found->dtype));
    std::vector<uint8_t> copies((end - begin) * itemSize(copy->dtype));
    SHARDSCOPE_CHECK(readElements(amended.files, of, {param, "fp32", begin, end}, masters));
    SHARDSCOPE_CHECK(readElements(amended.files, *amended.source, {param, "weight", begin, end}, copies));
    for (uint64_t i = 0; i < end - begin; ++i) {
        const double master = elementAsDouble(found->dtype, masters.data() + i * itemSize(found->dtype));
        const double value = elementAsDouble(copy->dtype, copies.data() + i * itemSize(copy->dtype));
        if (!std::isfinite(master) || !std::isfinite(value))
            continue; // another diagnosis reports it
        ++tally.compared;
        tally.different += std::abs(master - value) > *roundingOf(copy->dtype, master) ? 1 : 0;
    }
    return {};
}

std::optional<bool> mastersFitCopies(const Amended& amended, uint32_t dpRank)
{
    const Checkpoint& source = *amended.source;
    WeightTally tally;
    for (uint32_t u = 0; u < source.units.size(); ++u) {
        const FlatUnit& unit = source.units[u];
        const auto share = unit.isFlat() ? unit.partitionRankOf(dpRank) : std::nullopt;
        if (!share || unit.states.empty() || unit.states.front().dtype != DType::Float32)
            continue;
        forEachFragmentOnRank(source, UnitId{u}, 0, *share, [&](const Fragment& fragment) {
            if (fragment.file == kNoFile || fragment.columnMajor)
                return true;
            const uint64_t end = fragment.paramOffset + std::min(fragment.elements, kSampleElements);
            // Unreadable files are reported elsewhere.
            std::ignore = compareWithCopy(amended, source, fragment.param, fragment.paramOffset, end, tally);
            return tally.compared < 64 * kSampleElements;
        });
    }
    if (tally.compared < WeightTally::kMin)
        return std::nullopt;
    return !tally.isBad();
}

} // namespace shardscope
