// SPDX-License-Identifier: Apache-2.0
#include "core/layout/present_elements.h"

#include "core/io/outage_watch.h"

#include <optional>

namespace shardscope {

Result<std::vector<std::pair<uint64_t, uint64_t>>> readPresentElements(
    io::FileSystem& files, const Checkpoint& checkpoint, const StateRange& range, std::span<uint8_t> out)
{
    std::vector<std::pair<uint64_t, uint64_t>> missing;
    const io::OutageWatch watch;
    // In one call if nothing is missing; else piece by piece.
    if (readElements(files, checkpoint, range, out))
        return missing;
    SHARDSCOPE_TRY(
        const auto fragments, fragmentsOf(checkpoint, range.param, range.state, range.begin, range.end));
    std::optional<Error> firstError;
    bool anyRead = fragments.empty();
    for (const Fragment& fragment : fragments) {
        const uint64_t first = fragment.paramOffset;
        const uint64_t last = first + fragment.elements;
        const uint64_t item = itemSize(fragment.dtype);
        const Status read = readElements(files, checkpoint, {range.param, range.state, first, last},
            out.subspan((first - range.begin) * item, fragment.elements * item));
        if (read) {
            anyRead = true;
            continue;
        }
        if (read.error().code == ErrorCode::Cancelled)
            return forward(read.error());
        if (!firstError)
            firstError = read.error();
        missing.emplace_back(first, last);
    }
    SHARDSCOPE_CHECK(watch.status());
    if (!anyRead && firstError) {
        if (firstError->code == ErrorCode::Refused || firstError->code == ErrorCode::NotFound)
            firstError->code = ErrorCode::Unreadable;
        return forward(*firstError);
    }
    return missing;
}

} // namespace shardscope
