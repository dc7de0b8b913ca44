// SPDX-License-Identifier: Apache-2.0
#include "core/plan/segment_cursors.h"

#include "core/layout/fragments.h"

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

const UnitState* stateOf(const FlatUnit& unit, std::string_view name)
{
    const auto found = std::find_if(
        unit.states.begin(), unit.states.end(), [&](const UnitState& state) { return state.name == name; });
    return found == unit.states.end() ? nullptr : &*found;
}

/// Elements of a source state that lie back to back in one record.
struct SourceRun {
    FileId file = kNoFile;
    uint32_t record = 0;
    uint64_t byteOffset = 0; ///< from the start of the file
    uint64_t elements = 0;
    DType dtype = DType::Unknown;
};

/// The run that begins with `element`, of a state that is there.
SourceRun sourceRunAt(const Checkpoint& source, ParamId id, std::string_view name, uint64_t element)
{
    const Parameter& param = source.params[index(id)];
    const FlatUnit* unit = source.unitOf(id);
    if (const UnitState* state = unit == nullptr ? nullptr : stateOf(*unit, name)) {
        const FlatPartition::Position position = unit->partition.positionOf(param.indexInUnit, element);
        FlatPiece piece = *unit->partition.pieceAt(position.rank, position.flatOffset);
        const uint64_t elements = piece.paramOffset + piece.elements - element;
        piece.flatOffset = position.flatOffset;
        piece.paramOffset = element;
        const auto [run, offset] = state->placeOf(piece);
        return {
            run.file, run.record, run.byteOffset + offset * itemSize(state->dtype), elements, state->dtype};
    }
    SourceRun out;
    const auto whole = findState(source, id, name);
    if (!whole)
        return out; // planners ask for states that are there
    forEachFragmentOf(source, *whole, element, param.elements, [&](const Fragment& fragment) {
        out = {fragment.file, fragment.record, fragment.byteOffset, fragment.elements, whole->dtype};
        return false;
    });
    return out;
}

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
            m_paddingItemBytes = itemSize(outputTypeOf(m_target->unit->params.front()));
        return true;
    }

    [[nodiscard]] DType outputTypeOf(ParamId param) const
    {
        return m_target->castTo != DType::Unknown
            ? m_target->castTo
            : sourceType(*m_target->source, param, m_target->state).value_or(DType::Unknown);
    }

    void fillFromSource(Segment& segment)
    {
        const ParamId id = m_target->unit->params[m_piece.param];
        const uint64_t element = m_piece.paramOffset + m_pieceDone;
        const SourceRun from = sourceRunAt(*m_target->source, id, m_target->state, element);
        const uint64_t elements = std::min(from.elements, m_piece.elements - m_pieceDone);
        const DType output = m_target->castTo == DType::Unknown ? from.dtype : m_target->castTo;
        segment = Segment{(*m_target->sourceOfFile)[index(from.file)], from.record, from.byteOffset,
            elements * itemSize(output), m_target->tensorOf(id), element, from.dtype, output};
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

std::optional<DType> sourceType(const Checkpoint& source, ParamId param, std::string_view state)
{
    const FlatUnit* unit = source.unitOf(param);
    if (const UnitState* found = unit == nullptr ? nullptr : stateOf(*unit, state))
        return found->dtype;
    const auto whole = findState(source, param, state);
    return whole ? std::optional(whole->dtype) : std::nullopt;
}

std::function<std::unique_ptr<SegmentCursor>()> flatCursor(FlatTarget target)
{
    auto shared = std::make_shared<const FlatTarget>(std::move(target));
    return [shared] { return std::make_unique<FlatCursor>(shared); };
}

} // namespace shardscope
