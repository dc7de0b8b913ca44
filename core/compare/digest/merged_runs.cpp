// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/merged_runs.h"

#include <algorithm>

namespace shardscope {

MergedRuns::MergedRuns(const Checkpoint& checkpoint, const TensorTable& table)
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

void MergedRuns::addTo(std::vector<TensorRun>& out, FileId file) const
{
    if (m_of == nullptr)
        return;
    for (const FlatUnit& unit : m_of->units) {
        for (uint32_t state = 0; state < unit.states.size(); ++state) {
            const uint32_t item = itemSize(unit.states[state].dtype);
            unit.states[state].visitRuns([&](const MappedRun& mapped) {
                if (mapped.run.file == file)
                    mapped.forEachPiece(unit.partition, [&](uint32_t position, const StoredPiece& piece) {
                        const TensorRun slice{piece.run.byteOffset + piece.runOffset * item,
                            piece.elements * item, 0, item, piece.paramOffset};
                        for (const Piece& of : m_pieces[index(unit.params[position])])
                            addPiece(out, of, slice, state);
                    });
                return true;
            });
        }
    }
}

/// The part of one piece in a run of a slice's elements, numbered by the merged tensor's elements.
void MergedRuns::addPiece(
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
