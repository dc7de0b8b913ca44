// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/shared_statistics.h"

namespace shardscope {

void writeFound(WireWriter& out, const FoundStatistics& found)
{
    out.plain(found.statistics);
    const auto counts = found.histogram.counts();
    out.number(counts.size());
    uint32_t before = 0;
    for (const auto& [upperBits, count] : counts) {
        out.number(upperBits - before);
        out.number(count);
        before = upperBits;
    }
    out.number(found.missing);
    writeStatus(out, found.firstError ? Status(forward(*found.firstError)) : Status());
}

FoundStatistics readFound(WireReader& in)
{
    FoundStatistics out;
    out.statistics = in.plain<Statistics>();
    const uint64_t bins = in.count();
    uint64_t upperBits = 0;
    for (uint64_t i = 0; i < bins && in.isGood(); ++i) {
        upperBits += in.number32();
        if (upperBits > UINT16_MAX) {
            in.fail();
            break;
        }
        out.histogram.add(static_cast<uint32_t>(upperBits), in.number());
    }
    out.missing = in.number();
    if (const Status status = readStatus(in); !status)
        out.firstError = status.error();
    return out;
}

} // namespace shardscope
