// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/joined_runs.h"

#include <algorithm>

namespace shardscope {

JoinedRuns::JoinedRuns(const Checkpoint& checkpoint, const TensorTable& table)
    : m_table(table)
{
    if (!checkpoint.merged)
        return;
    m_of = checkpoint.merged->of.get();
    m_pieces.resize(m_of->params.size());
    for (uint32_t i = 0; i < checkpoint.merged->pieces.size(); ++i) {
        for (const SlicePiece& piece : checkpoint.merged->pieces[i])
            m_pieces[index(piece.slice)].push_back({ParamId{i}, piece});
    }
}

void JoinedRuns::addTo(std::vector<TensorRun>& out, FileId file) const
{
    if (m_of == nullptr)
        return;
    for (const FlatUnit& unit : m_of->units) {
        for (uint32_t state = 0; state < unit.states.size(); ++state) {
            if (!unit.states[state].perParam.empty()) {
                addWholes(out, unit, state, file);
                continue; // perRank has no run of them
            }
            for (uint32_t rank = 0; rank < unit.states[state].perRank.size(); ++rank) {
                if (unit.states[state].perRank[rank].file == file)
                    addShare(out, unit, state, rank);
            }
        }
    }
}

void JoinedRuns::addWholes(
    std::vector<TensorRun>& out, const FlatUnit& unit, uint32_t state, FileId file) const
{
    const uint32_t item = itemSize(unit.states[state].dtype);
    for (uint32_t at = 0; at < unit.states[state].perParam.size(); ++at) {
        const StoredRun& run = unit.states[state].perParam[at];
        if (run.file != file || run.elements == 0)
            continue;
        for (const Piece& of : m_pieces[index(unit.params[at])])
            addPiece(out, of, {run.byteOffset, run.elements * item, 0, item, 0}, state);
    }
}

void JoinedRuns::addShare(
    std::vector<TensorRun>& out, const FlatUnit& unit, uint32_t state, uint32_t rank) const
{
    const StoredRun& run = unit.states[state].perRank[rank];
    const uint32_t item = itemSize(unit.states[state].dtype);
    const uint64_t end = std::min(run.elements, unit.partition.partitionElements());
    unit.partition.forEachPiece(rank, 0, end, [&](const FlatPiece& piece) {
        if (piece.isPadding() || piece.elements == 0)
            return true;
        const TensorRun slice{
            run.byteOffset + piece.flatOffset * item, piece.elements * item, 0, item, piece.paramOffset};
        for (const Piece& of : m_pieces[index(unit.params[piece.param])])
            addPiece(out, of, slice, state);
        return true;
    });
}

/// The part of one piece in a run of a slice's elements, numbered by the merged tensor's elements.
void JoinedRuns::addPiece(
    std::vector<TensorRun>& out, const Piece& of, const TensorRun& slice, uint32_t state) const
{
    const SlicePiece& piece = of.piece;
    const uint64_t begin = slice.firstElement;
    const uint64_t end = begin + slice.bytes / slice.itemBytes;
    const uint64_t stride = std::max<uint64_t>(1, piece.sliceStride);
    uint64_t number = begin > piece.sliceFirst ? (begin - piece.sliceFirst) / stride : 0;
    for (; number < piece.count; ++number) {
        const uint64_t runBegin = piece.sliceFirst + number * piece.sliceStride;
        if (runBegin >= end)
            return;
        const uint64_t from = std::max(begin, runBegin);
        const uint64_t to = std::min(end, runBegin + piece.run);
        if (from >= to)
            continue;
        out.push_back({slice.offset + (from - begin) * slice.itemBytes, (to - from) * slice.itemBytes,
            m_table.indexOf(of.param, state), slice.itemBytes,
            piece.first + number * piece.stride + (from - runBegin)});
    }
}

} // namespace shardscope
