// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/slices/merged_slices.h"

#include <algorithm>

namespace shardscope {

namespace {

/// The run that contains an element of the whole. Its element count is the rest of the run.
bool runAt(const std::vector<SlicePiece>& pieces, uint64_t element, SliceRun& out)
{
    for (const SlicePiece& piece : pieces) {
        if (element < piece.first || piece.stride == 0)
            continue;
        const uint64_t at = element - piece.first;
        const uint64_t number = std::min(at / piece.stride, piece.count - 1);
        const uint64_t inside = at - number * piece.stride;
        if (inside >= piece.run)
            continue;
        out = {
            piece.slice, element, piece.sliceFirst + number * piece.sliceStride + inside, piece.run - inside};
        return true;
    }
    return false;
}

} // namespace

void forEachSliceRun(const std::vector<SlicePiece>& pieces, uint64_t begin, uint64_t end,
    const std::function<bool(const SliceRun&)>& visit)
{
    while (begin < end) {
        SliceRun run;
        if (!runAt(pieces, begin, run))
            return;
        run.elements = std::min(run.elements, end - begin);
        begin += run.elements;
        if (!visit(run))
            return;
    }
}

} // namespace shardscope
