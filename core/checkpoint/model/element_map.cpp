// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/element_map.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr StoredRun kAbsent{};

/// The element of a tensor that is the `number`-th of a box.
uint64_t elementOfBox(const Shape& shape, const Box& box, uint64_t number)
{
    uint64_t out = 0;
    uint64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        out += (box.offsets[d] + number % box.sizes[d]) * stride;
        number /= box.sizes[d];
        stride *= shape[d];
    }
    return out;
}

} // namespace

void MappedRun::forEachPiece(const FlatPartition& partition,
    const std::function<void(uint32_t param, const StoredPiece&)>& visit) const
{
    if (box != nullptr) {
        forEachRunOfBox(*shape, *box, [&](const BoxRun& row) {
            const StoredPiece piece{run, row.boxElement, row.element, row.elements};
            if (piece.stored() > 0)
                visit(*param, {run, row.boxElement, row.element, piece.stored()});
        });
    } else if (param) {
        if (run.elements > 0)
            visit(*param, {run, 0, first, run.elements});
    } else {
        const uint64_t end = std::min(run.elements, partition.partitionElements());
        partition.forEachPiece(share, 0, end, [&](const FlatPiece& piece) {
            if (!piece.isPadding() && piece.elements > 0)
                visit(piece.param, {run, piece.flatOffset, piece.paramOffset, piece.elements});
            return true;
        });
    }
}

std::optional<uint64_t> MappedRun::shareElement(const FlatPartition& partition, uint64_t number) const
{
    const uint64_t start = param ? partition.paramStart(*param) : 0;
    const uint64_t out = start + (box != nullptr ? elementOfBox(*shape, *box, number) : number);
    return out < partition.partitionElements() ? std::optional(out) : std::nullopt;
}

bool BufferMap::visitPiece(Shares shares, const FlatPiece& piece, const PieceVisit& visit) const
{
    const StoredRun& run = piece.rank < shares.size() ? shares[piece.rank] : kAbsent;
    return visit({run, piece.flatOffset, piece.paramOffset, piece.elements});
}

bool BufferMap::visitRuns(Shares shares, const RunVisit& visit) const
{
    for (uint32_t share = 0; share < shares.size(); ++share) {
        if (!visit({shares[share], share}))
            return false;
    }
    return true;
}

bool TensorMap::visitPiece(Shares, const FlatPiece& piece, const PieceVisit& visit) const
{
    const StoredRun& run = piece.param < m_tensors.size() ? m_tensors[piece.param] : kAbsent;
    return visit({run, piece.paramOffset, piece.paramOffset, piece.elements});
}

bool TensorMap::visitRuns(Shares, const RunVisit& visit) const
{
    for (uint32_t param = 0; param < m_tensors.size(); ++param) {
        if (!visit({m_tensors[param], 0, param}))
            return false;
    }
    return true;
}

bool SliceMap::visitPiece(Shares, const FlatPiece& piece, const PieceVisit& visit) const
{
    const size_t at = piece.rank * m_params + piece.param;
    if (at >= m_slices.size())
        return visit({kAbsent, 0, piece.paramOffset, piece.elements});
    const Slice& slice = m_slices[at];
    return visit({slice.run, piece.paramOffset - slice.first, piece.paramOffset, piece.elements});
}

bool SliceMap::visitRuns(Shares, const RunVisit& visit) const
{
    for (size_t at = 0; at < m_slices.size(); ++at) {
        const MappedRun mapped{m_slices[at].run, static_cast<uint32_t>(at / m_params),
            static_cast<uint32_t>(at % m_params), m_slices[at].first};
        if (!visit(mapped))
            return false;
    }
    return true;
}

bool BoxMap::visitPiece(Shares, const FlatPiece& piece, const PieceVisit& visit) const
{
    bool goOn = true;
    forEachBoxRun(
        m_shape, m_boxes, piece.paramOffset, piece.paramOffset + piece.elements, [&](const BoxRun& part) {
            return goOn = visit({m_runs[part.box], part.boxElement, part.element, part.elements});
        });
    return goOn;
}

bool BoxMap::visitRuns(Shares, const RunVisit& visit) const
{
    for (size_t at = 0; at < m_runs.size(); ++at) {
        if (!visit({m_runs[at], 0, 0, 0, &m_boxes[at], &m_shape}))
            return false;
    }
    return true;
}

} // namespace shardscope
