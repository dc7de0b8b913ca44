// SPDX-License-Identifier: Apache-2.0
#include "core/partition/held_whole.h"

namespace shardscope {

HeldWhole heldWholeOn(const FlatPartition& partition, uint32_t rank)
{
    HeldWhole out;
    std::optional<FlatPiece> last;
    partition.forEachPiece(rank, 0, partition.partitionElements(), [&](const FlatPiece& piece) {
        if (piece.isPadding() || piece.elements == 0)
            return true;
        if (!last) {
            out.first = piece.param;
            out.before = piece.paramOffset;
        }
        out.own += piece.elements;
        last = piece;
        return true;
    });
    if (last) {
        out.last = last->param;
        out.after = partition.paramElements(last->param) - (last->paramOffset + last->elements);
    }
    return out;
}

} // namespace shardscope
