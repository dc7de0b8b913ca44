// SPDX-License-Identifier: Apache-2.0
#include "core/layout/slices/slice_pieces.h"

#include "core/base/checked.h"
#include "core/layout/slices/merged_slices.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

class Pieces
{
public:
    Pieces(const SliceRule& rule, const ParamSlices& slices)
        : m_rule(rule)
        , m_slices(slices)
    {
    }

    Result<RuledPieces> run()
    {
        switch (m_rule.merge) {
        case SliceRule::Merge::Replicated:
        case SliceRule::Merge::Averaged:
            SHARDSCOPE_CHECK(takeFirst());
            break;
        case SliceRule::Merge::TwoHalves:
            m_out.marks.subParams = 2;
            SHARDSCOPE_CHECK(merge(0, {}, 2));
            m_out.marks.catDimension = 0;
            break;
        case SliceRule::Merge::SubParams:
            SHARDSCOPE_CHECK(mergeSubParams());
            break;
        case SliceRule::Merge::Concatenated:
            SHARDSCOPE_CHECK(merge(m_rule.dimension, {}, 1));
            m_out.marks.catDimension = m_rule.dimension;
            break;
        }
        if (m_rule.vocabulary)
            SHARDSCOPE_CHECK(removePadding(*m_rule.vocabulary));
        return std::move(m_out);
    }

private:
    static tl::unexpected<Error> refused(std::string why) { return fail(ErrorCode::Refused, std::move(why)); }

    Status takeFirst()
    {
        m_out.shape = m_slices.shapes.front();
        if (std::any_of(m_slices.shapes.begin(), m_slices.shapes.end(),
                [&](const Shape& shape) { return shape != m_out.shape; }))
            return refused("have different shapes, but a pattern says that they are equal");
        const uint64_t elements = elementCount(m_out.shape).value_or(0);
        m_out.alike = true;
        if (elements > 0)
            m_out.pieces.push_back({m_slices.ids.front(), 0, elements, 0, elements, elements, 1});
        return {};
    }

    /// Sets the whole's shape. Checks that the slices differ only in `dimension`.
    Status widen(uint32_t dimension)
    {
        m_out.shape = m_slices.shapes.front();
        if (dimension >= m_out.shape.size())
            return refused("have no dimension " + std::to_string(dimension) + " to be merged along");
        uint64_t total = 0;
        for (const Shape& shape : m_slices.shapes) {
            Shape alike = shape;
            if (alike.size() == m_out.shape.size())
                alike[dimension] = m_out.shape[dimension];
            if (alike != m_out.shape)
                return refused("differ in other dimensions than " + std::to_string(dimension)
                    + ", along which they are merged");
            const auto sum = checkedAdd(total, shape[dimension]);
            if (!sum)
                return refused("are larger than 64 bits can count");
            total = *sum;
        }
        m_out.shape[dimension] = total;
        return elementCount(m_out.shape) ? Status() : Status(refused("are larger than 64 bits can count"));
    }

    /// `widths`: per sub-parameter and slice. Empty: every slice has `equal` sub-parameters of the same size.
    Status merge(uint32_t dimension, std::vector<std::vector<uint64_t>> widths, uint64_t equal)
    {
        SHARDSCOPE_CHECK(widen(dimension));
        if (widths.empty()) {
            widths.resize(equal);
            for (const Shape& shape : m_slices.shapes) {
                if (shape[dimension] % equal != 0)
                    return refused("do not divide into " + std::to_string(equal) + " equal parts");
                for (auto& of : widths)
                    of.push_back(shape[dimension] / equal);
            }
        }
        std::vector<uint64_t> starts(m_slices.ids.size(), 0);
        uint64_t start = 0;
        for (const auto& subParam : widths) {
            for (size_t slice = 0; slice < m_slices.ids.size(); ++slice) {
                addBlock(slice, dimension, starts[slice], start, subParam[slice]);
                starts[slice] += subParam[slice];
                start += subParam[slice];
            }
        }
        return {};
    }

    /// Adds `width` steps of a dimension, from `from` in the slice to `to` in the whole.
    void addBlock(size_t slice, uint32_t dimension, uint64_t from, uint64_t to, uint64_t width)
    {
        const auto product = [&](size_t begin, size_t end) { // cannot overflow: the whole's size was checked
            return std::accumulate(m_out.shape.begin() + static_cast<std::ptrdiff_t>(begin),
                m_out.shape.begin() + static_cast<std::ptrdiff_t>(end), uint64_t{1}, std::multiplies<>());
        };
        const uint64_t outer = product(0, dimension);
        const uint64_t inner = product(size_t{dimension} + 1, m_out.shape.size());
        if (width == 0 || outer == 0 || inner == 0)
            return;
        m_out.pieces.push_back({m_slices.ids[slice], to * inner, m_out.shape[dimension] * inner, from * inner,
            m_slices.shapes[slice][dimension] * inner, width * inner, outer});
    }

    Status mergeSubParams()
    {
        const uint32_t dimension = m_rule.dimension;
        SHARDSCOPE_CHECK(widen(dimension));
        const uint64_t size = m_out.shape[dimension];
        std::vector<uint64_t> sizes(m_rule.subSizes.begin(), m_rule.subSizes.end());
        if (m_rule.isCount) {
            const uint64_t count = sizes.front();
            if (count == 0 || count > size || size % count != 0)
                return refused("do not divide into " + std::to_string(count) + " equal sub-parameters");
            sizes.assign(count, size / count);
        }
        uint64_t total = 0;
        for (const uint64_t of : sizes)
            total = checkedAdd(total, of).value_or(size + 1);
        if (total != size)
            return refused("are " + std::to_string(size)
                + " long where the sub-parameters of the pattern are " + std::to_string(total));
        SHARDSCOPE_CHECK(checkShape());
        std::vector<std::vector<uint64_t>> widths = m_rule.widths;
        if (widths.empty()) {
            for (const uint64_t of : sizes) {
                if (of % m_slices.ids.size() != 0)
                    return refused("cannot split a sub-parameter of " + std::to_string(of)
                        + " evenly, and no `sub_param_shard_widths` record how it is split");
                widths.emplace_back(m_slices.ids.size(), of / m_slices.ids.size());
            }
        }
        SHARDSCOPE_CHECK(checkWidths(widths, sizes));
        SHARDSCOPE_CHECK(merge(dimension, std::move(widths), 0));
        m_out.marks.subShape = UniversalMarks::SubShape{m_rule.patterns, {}, sizes, dimension};
        for (const int64_t of : m_rule.shape)
            m_out.marks.subShape->shape.push_back(of);
        return {};
    }

    /// Checks that the pattern's shape matches the slices, except for sizes that it leaves open.
    Status checkShape() const
    {
        bool fits = m_rule.shape.size() == m_out.shape.size();
        size_t open = 0;
        for (size_t i = 0; fits && i < m_rule.shape.size(); ++i) {
            if (i == m_rule.dimension)
                continue;
            open += m_rule.shape[i] < 0 ? 1 : 0;
            fits = m_rule.shape[i] < 0 || static_cast<uint64_t>(m_rule.shape[i]) == m_out.shape[i];
        }
        if (!fits || open > 1)
            return refused(
                "do not have the shape that the pattern gives them, which this build does not support");
        return {};
    }

    Status checkWidths(
        const std::vector<std::vector<uint64_t>>& widths, const std::vector<uint64_t>& sizes) const
    {
        bool fits = widths.size() == sizes.size();
        std::vector<uint64_t> perSlice(m_slices.ids.size(), 0);
        for (size_t i = 0; fits && i < widths.size(); ++i) {
            fits = widths[i].size() == m_slices.ids.size();
            uint64_t sum = 0;
            for (size_t slice = 0; fits && slice < widths[i].size(); ++slice) {
                sum = checkedAdd(sum, widths[i][slice]).value_or(sizes[i] + 1);
                perSlice[slice] = checkedAdd(perSlice[slice], widths[i][slice]).value_or(0);
            }
            fits = fits && sum == sizes[i];
        }
        for (size_t slice = 0; fits && slice < perSlice.size(); ++slice)
            fits = perSlice[slice] == m_slices.shapes[slice][m_rule.dimension];
        return fits ? Status()
                    : Status(refused("do not have the `sub_param_shard_widths` that are recorded"));
    }

    /// Removes rows after the vocabulary's end. They only make all slices equally long.
    Status removePadding(uint64_t rows)
    {
        const bool byRows = m_rule.merge == SliceRule::Merge::Concatenated && m_rule.dimension == 0;
        if (m_out.shape.size() != 2 || (!byRows && !m_out.alike))
            return refused("are no rows of a vocabulary");
        m_out.marks.isVocabulary = true;
        m_out.marks.paddingRows = m_out.shape[0] - std::min(rows, m_out.shape[0]);
        if (rows > m_out.shape[0])
            return refused("have " + std::to_string(m_out.shape[0]) + " rows, fewer than the vocabulary's "
                + std::to_string(rows));
        const uint64_t end = rows * m_out.shape[1];
        m_out.shape[0] = rows;
        for (SlicePiece& piece : m_out.pieces)
            piece.run = piece.first >= end ? 0 : std::min(piece.run, end - piece.first);
        std::erase_if(m_out.pieces, [](const SlicePiece& piece) { return piece.run == 0; });
        return {};
    }

    const SliceRule& m_rule;
    const ParamSlices& m_slices;
    RuledPieces m_out;
};

} // namespace

Result<RuledPieces> piecesOf(const SliceRule& rule, const ParamSlices& slices)
{
    return Pieces(rule, slices).run();
}

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

namespace {

Status checkAlike(const Checkpoint& of, uint32_t group, const FlatUnit& guide)
{
    for (const FlatUnit& unit : of.units) {
        if (unit.group != static_cast<int32_t>(group))
            continue;
        bool same = unit.step == guide.step && unit.states.size() == guide.states.size();
        for (size_t i = 0; same && i < unit.states.size(); ++i)
            same = unit.states[i].name == guide.states[i].name
                && unit.states[i].dtype == guide.states[i].dtype;
        if (!same)
            return fail(ErrorCode::Refused,
                "the model-parallel ranks differ in step or states of param group " + std::to_string(group),
                of.tagFolder.string());
    }
    return {};
}

FlatUnit wholeUnit(const Checkpoint& of, const FlatUnit& guide)
{
    FlatUnit unit;
    unit.kind = UnitKind::Whole;
    unit.group = guide.group;
    unit.step = guide.step;
    unit.stepForm = guide.stepForm;
    unit.stepType = guide.stepType;
    unit.stateNode = guide.stateNode;
    for (const UnitState& state : guide.states) {
        UnitState merged;
        merged.name = state.name;
        merged.dtype = state.dtype;
        merged.perRank = {StoredRun{of.templateOptim, StoredRun::kNoRecord, 0, 0}};
        unit.states.push_back(std::move(merged));
    }
    return unit;
}

} // namespace

const Checkpoint& storedUnder(const Checkpoint& checkpoint)
{
    const Checkpoint* out = &checkpoint;
    while (out->merged)
        out = out->merged->of.get();
    return *out;
}

std::shared_ptr<Checkpoint> emptyMerged(const Checkpoint& of)
{
    auto out = std::make_shared<Checkpoint>(of);
    out->parts.clear();
    out->params.clear();
    out->paramByName.clear();
    out->units.clear();
    out->whole.clear();
    out->groups.clear();
    out->parallel = {of.parallel.dp, 1, 1, 1};
    return out;
}

Status addMergedUnits(const Checkpoint& of, const std::vector<std::vector<ParamId>>& order, Checkpoint& out)
{
    const Checkpoint& first = of.parts.empty() ? of : *of.parts.front();
    for (size_t g = 0; g < first.groups.size(); ++g) {
        ParamGroup group = first.groups[g];
        if (group.units.empty())
            continue;
        const FlatUnit& guide = first.units[index(group.units.front())];
        SHARDSCOPE_CHECK(checkAlike(of, group.index, guide));
        FlatUnit unit = wholeUnit(of, guide);
        const UnitId id{static_cast<uint32_t>(out.units.size())};
        std::vector<uint64_t> elements;
        for (const ParamId param : order[g]) {
            Parameter& member = out.params[index(param)];
            member.unit = id;
            member.group = unit.group;
            member.indexInUnit = static_cast<uint32_t>(unit.params.size());
            unit.params.push_back(param);
            elements.push_back(member.elements);
        }
        SHARDSCOPE_TRY(unit.partition, FlatPartition::contiguous(elements, 1, 1));
        group.units = {id};
        group.elements = unit.partition.payloadElements();
        group.parameters = unit.params.size();
        out.groups.push_back(std::move(group));
        out.units.push_back(std::move(unit));
    }
    return {};
}

} // namespace shardscope
