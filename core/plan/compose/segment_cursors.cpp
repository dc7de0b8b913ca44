// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/segment_cursors.h"

#include "core/layout/fragments.h"

#include <algorithm>
#include <limits>

namespace shardscope {

namespace {

class ListCursor final : public SegmentCursor
{
public:
    explicit ListCursor(std::shared_ptr<const std::vector<Segment>> segments)
        : m_segments(std::move(segments))
    {
    }

    bool next(Segment& segment) override
    {
        if (m_at == m_segments->size())
            return false;
        segment = (*m_segments)[m_at++];
        return true;
    }

private:
    std::shared_ptr<const std::vector<Segment>> m_segments;
    size_t m_at = 0;
};

/// Elements that are stored in logical order: a single row of all elements.
constexpr TransposedOrder kRowMajor{1, std::numeric_limits<uint64_t>::max()};

/// The run that begins with an element, by its stored number, of a state that exists.
Fragment storedFragmentAt(const Checkpoint& source, ParamId param, std::string_view state, uint64_t stored)
{
    Fragment out;
    const auto found = findState(source, param, state);
    if (!found)
        return out; // planners request only existing states
    forEachStoredFragmentOf(source, *found, stored, found->elements, [&](const Fragment& fragment) {
        out = fragment;
        return false;
    });
    return out;
}

class FlatCursor final : public SegmentCursor
{
public:
    explicit FlatCursor(std::shared_ptr<const FlatTarget> target)
        : m_target(std::move(target))
        , m_at(m_target->first)
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
        uint64_t left = m_piece.elements - m_pieceDone;
        if (m_target->refills) {
            const uint64_t lost = m_target->refills->lostAt(id, m_target->state, element, left);
            if (lost > 0)
                return refill(segment, id, element, lost);
            left = m_target->refills->keptAt(id, m_target->state, element, left);
        }
        std::optional<TransposedOrder> columns;
        if (!m_target->storedOrder)
            columns = m_target->source->transposedOrder(id);
        const TransposedOrder order = columns.value_or(kRowMajor);
        const Fragment from
            = storedFragmentAt(*m_target->source, id, m_target->state, order.storedOf(element));
        if (from.elements == 0) { // padding rows at the end of a split vocabulary (split_slices.h)
            segment = Segment{
                Segment::kZero, 0, 0, left * itemSize(outputTypeOf(id)), m_target->tensorOf(id), element};
            m_pieceDone += left;
            return;
        }
        if (from.file == kNoFile && m_target->refills)
            return refill(segment, id, element, std::min(left, from.elements));
        // Up to the end of the row, or to the begin of another rank's columns.
        const uint64_t inRow = order.columns - element % order.columns;
        const uint64_t elements = std::min({left, inRow, 1 + (from.elements - 1) / order.rows});
        const DType output = m_target->castTo == DType::Unknown ? from.dtype : m_target->castTo;
        // Files of bare elements are one record (SourceList).
        const uint32_t record = from.record == StoredRun::kNoRecord ? 0 : from.record;
        segment = Segment{(*m_target->sourceOfFile)[index(from.file)], record, from.byteOffset,
            elements * itemSize(output), m_target->tensorOf(id), element, from.dtype, output,
            static_cast<uint32_t>(order.rows)};
        m_pieceDone += elements;
    }

    /// Adds at most `left` lost elements of the source.
    void refill(Segment& segment, ParamId id, uint64_t element, uint64_t left)
    {
        const DType output = outputTypeOf(id);
        const Refills::Run run = m_target->refills->runAt(id, m_target->state, element);
        const Fragment& from = run.fragment;
        const uint64_t elements = from.elements == 0 ? left : std::min(left, from.elements);
        const uint32_t record = from.record == StoredRun::kNoRecord ? 0 : from.record;
        segment = from.elements == 0
            ? Segment{Segment::kZero, 0, 0, elements * itemSize(output), m_target->tensorOf(id), element}
            : Segment{run.source, record, from.byteOffset, elements * itemSize(output),
                m_target->tensorOf(id), element, from.dtype, output, 1};
        m_pieceDone += elements;
    }

    std::shared_ptr<const FlatTarget> m_target;
    FlatPiece m_piece;
    uint64_t m_pieceDone = 0;
    uint64_t m_at = 0;
    uint32_t m_paddingItemBytes = 4;
};

using CursorFactory = std::function<std::unique_ptr<SegmentCursor>()>;

class ChainedCursor final : public SegmentCursor
{
public:
    explicit ChainedCursor(std::shared_ptr<const std::vector<CursorFactory>> parts)
        : m_parts(std::move(parts))
    {
    }

    bool next(Segment& segment) override
    {
        for (;;) {
            if (m_current && m_current->next(segment))
                return true;
            if (m_next == m_parts->size())
                return false;
            m_current = (*m_parts)[m_next++]();
        }
    }

private:
    std::shared_ptr<const std::vector<CursorFactory>> m_parts;
    std::unique_ptr<SegmentCursor> m_current;
    size_t m_next = 0;
};

} // namespace

std::function<std::unique_ptr<SegmentCursor>()> chainedCursor(std::vector<CursorFactory> parts)
{
    auto shared = std::make_shared<const std::vector<CursorFactory>>(std::move(parts));
    return [shared] { return std::make_unique<ChainedCursor>(shared); };
}

std::function<std::unique_ptr<SegmentCursor>()> listCursor(std::vector<Segment> segments)
{
    auto shared = std::make_shared<const std::vector<Segment>>(std::move(segments));
    return [shared] { return std::make_unique<ListCursor>(shared); };
}

std::function<std::unique_ptr<SegmentCursor>()> wholeRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes)
{
    return markedRecordCursor(source, record, offset, bytes, {});
}

std::function<std::unique_ptr<SegmentCursor>()> markedRecordCursor(
    uint32_t source, uint32_t record, uint64_t offset, uint64_t bytes, const std::vector<MarkedRun>& runs)
{
    std::vector<Segment> segments;
    const auto add = [&](uint64_t to, uint32_t tensor) {
        if (offset < to)
            segments.push_back({source, record, offset, to - offset, tensor, 0});
        offset = to;
    };
    const uint64_t end = offset + bytes;
    for (const MarkedRun& run : runs) {
        add(run.offset, Segment::kNoTensor);
        add(run.offset + run.bytes, run.tensor);
    }
    add(end, Segment::kNoTensor);
    return listCursor(std::move(segments));
}

std::optional<DType> sourceType(const Checkpoint& source, ParamId param, std::string_view state)
{
    const auto found = findState(source, param, state);
    return found ? std::optional(found->dtype) : std::nullopt;
}

std::string valueStateOf(const Checkpoint& source, ParamId param)
{
    const std::vector<std::string> states = statesOf(source, param); // the values come first
    return states.empty() ? std::string() : states.front();
}

std::optional<DType> valueType(const Checkpoint& source, ParamId param)
{
    return sourceType(source, param, valueStateOf(source, param));
}

std::function<std::unique_ptr<SegmentCursor>()> tensorCursor(TensorTarget target)
{
    const Parameter& of = target.source->params[index(target.param)];
    FlatUnit unit;
    unit.kind = UnitKind::Whole;
    unit.params = {target.param};
    // cannot fail: one parameter that fitted before
    if (auto partition = FlatPartition::contiguous({of.elements}, 1, 1))
        unit.partition = std::move(*partition);
    FlatTarget flat;
    flat.source = std::move(target.source);
    flat.unit = std::make_shared<const FlatUnit>(std::move(unit));
    flat.state = std::move(target.state);
    flat.first = target.first;
    flat.elements = target.end.value_or(of.elements);
    flat.castTo = target.castTo;
    flat.sourceOfFile = std::move(target.sourceOfFile);
    flat.tensorOf = [tensor = target.tensor](ParamId) { return tensor; };
    flat.refills = std::move(target.refills);
    return flatCursor(std::move(flat));
}

std::function<std::unique_ptr<SegmentCursor>()> flatCursor(FlatTarget target)
{
    auto shared = std::make_shared<const FlatTarget>(std::move(target));
    return [shared] { return std::make_unique<FlatCursor>(shared); };
}

} // namespace shardscope
