// SPDX-License-Identifier: Apache-2.0
#include "core/plan/segment_cursors.h"

#include <algorithm>

namespace shardscope {

namespace {

class MarkedCursor final : public SegmentCursor
{
public:
    MarkedCursor(uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes,
        std::shared_ptr<const std::vector<MarkedRun>> runs)
        : m_source(source)
        , m_record(record)
        , m_at(offset)
        , m_end(offset + bytes)
        , m_runs(std::move(runs))
    {
    }

    bool next(Segment& segment) override
    {
        if (m_at >= m_end)
            return false;
        segment = Segment{m_source, m_record, m_at, m_end - m_at, Segment::kNoTensor, 0};
        if (m_run < m_runs->size()) {
            const MarkedRun& run = (*m_runs)[m_run];
            if (m_at < run.offset) {
                segment.bytes = run.offset - m_at;
            } else {
                segment.bytes = run.bytes;
                segment.tensor = run.tensor;
                ++m_run;
            }
        }
        m_at += segment.bytes;
        return true;
    }

private:
    uint32_t m_source;
    uint32_t m_record;
    uint64_t m_at;
    uint64_t m_end;
    std::shared_ptr<const std::vector<MarkedRun>> m_runs;
    size_t m_run = 0;
};

class FlatCursor final : public SegmentCursor
{
public:
    explicit FlatCursor(std::shared_ptr<const FlatTarget> target)
        : m_target(std::move(target))
    {
    }

    bool next(Segment& segment) override
    {
        if (m_pieceDone >= m_piece.elements && !nextPiece())
            return false;
        if (m_piece.isPadding()) {
            segment = Segment{Segment::kZero, 0, 0, (m_piece.elements - m_pieceDone) * m_paddingItemBytes,
                Segment::kNoTensor, 0};
            m_pieceDone = m_piece.elements;
            return true;
        }
        fillFromSource(segment);
        return true;
    }

private:
    bool nextPiece()
    {
        if (m_at >= m_target->elements)
            return false;
        m_piece = *m_target->unit->partition.pieceAt(m_target->rank, m_at);
        m_piece.paramOffset += m_piece.isPadding() ? 0 : m_at - m_piece.flatOffset;
        m_piece.elements -= m_at - m_piece.flatOffset;
        m_piece.elements = std::min(m_piece.elements, m_target->elements - m_at);
        m_at += m_piece.elements;
        m_pieceDone = 0;
        if (m_piece.isPadding())
            m_paddingItemBytes = itemSize(stateOf(m_target->unit->params.front()).dtype);
        return true;
    }

    [[nodiscard]] const UnitState& stateOf(ParamId param) const
    {
        const FlatUnit& unit = *m_target->source->unitOf(param);
        return *std::find_if(unit.states.begin(), unit.states.end(),
            [&](const UnitState& state) { return state.name == m_target->state; });
    }

    void fillFromSource(Segment& segment)
    {
        const Checkpoint& source = *m_target->source;
        const ParamId id = m_target->unit->params[m_piece.param];
        const Parameter& param = source.params[index(id)];
        const FlatPartition& from = source.units[index(param.unit)].partition;
        const uint64_t element = m_piece.paramOffset + m_pieceDone;
        const FlatPartition::Position position = from.positionOf(param.indexInUnit, element);
        const FlatPiece piece = *from.pieceAt(position.rank, position.flatOffset);
        const uint64_t elements
            = std::min(piece.paramOffset + piece.elements - element, m_piece.elements - m_pieceDone);
        const UnitState& state = stateOf(id);
        FlatPiece here = piece;
        here.flatOffset = position.flatOffset;
        here.paramOffset = element;
        const auto [run, offset] = state.placeOf(here);
        const uint32_t item = itemSize(state.dtype);
        segment = Segment{(*m_target->sourceOfFile)[index(run.file)], run.record,
            run.byteOffset + offset * item, elements * item, m_target->tensorOf(id), element};
        m_pieceDone += elements;
    }

    std::shared_ptr<const FlatTarget> m_target;
    FlatPiece m_piece;
    uint64_t m_pieceDone = 0;
    uint64_t m_at = 0;
    uint32_t m_paddingItemBytes = 4;
};

} // namespace

std::function<std::unique_ptr<SegmentCursor>()> wholeRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes)
{
    return markedRecordCursor(source, record, offset, bytes, {});
}

std::function<std::unique_ptr<SegmentCursor>()> markedRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes, std::vector<MarkedRun> runs)
{
    auto shared = std::make_shared<const std::vector<MarkedRun>>(std::move(runs));
    return [=] { return std::make_unique<MarkedCursor>(source, record, offset, bytes, shared); };
}

std::function<std::unique_ptr<SegmentCursor>()> flatCursor(FlatTarget target)
{
    auto shared = std::make_shared<const FlatTarget>(std::move(target));
    return [shared] { return std::make_unique<FlatCursor>(shared); };
}

} // namespace shardscope
