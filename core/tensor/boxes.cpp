// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/boxes.h"

#include "core/base/checked.h"

#include <algorithm>
#include <numeric>

namespace shardscope {

namespace {

/// Elements from one index of a dimension to the next.
Shape stridesOf(const Shape& shape)
{
    Shape out(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;)
        out[d - 1] = out[d] * shape[d];
    return out;
}

bool isEmpty(const Box& box)
{
    return std::find(box.sizes.begin(), box.sizes.end(), uint64_t{0}) != box.sizes.end();
}

uint64_t endOf(const Box& box, size_t d)
{
    return box.offsets[d] + box.sizes[d];
}

/// Whether the box has all of every dimension after `d`.
bool isWholeAfter(const Shape& shape, const Box& box, size_t d)
{
    for (size_t i = d + 1; i < shape.size(); ++i) {
        if (box.sizes[i] != shape[i])
            return false;
    }
    return true;
}

class RunWalk
{
public:
    RunWalk(const Shape& shape, std::span<const Box> boxes, uint64_t begin, uint64_t end,
        const std::function<bool(const BoxRun&)>& visit)
        : m_shape(shape)
        , m_boxes(boxes)
        , m_strides(stridesOf(shape))
        , m_begin(begin)
        , m_end(end)
        , m_visit(visit)
    {
    }

    void run()
    {
        std::vector<uint32_t> all;
        for (uint32_t i = 0; i < m_boxes.size(); ++i) {
            if (!isEmpty(m_boxes[i]))
                all.push_back(i);
        }
        if (m_shape.empty() && !all.empty() && m_begin < m_end)
            m_visit({all.front(), 0, 0, 1});
        else if (!m_shape.empty())
            walk(0, all, 0);
    }

private:
    /// The boxes' parts with the indices in front that make `base`; false to stop.
    bool walk(size_t d, const std::vector<uint32_t>& boxes, uint64_t base)
    {
        std::vector<uint64_t> cuts;
        for (const uint32_t i : boxes) {
            cuts.push_back(m_boxes[i].offsets[d]);
            cuts.push_back(endOf(m_boxes[i], d));
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        std::vector<uint32_t> inside;
        for (size_t c = 0; c + 1 < cuts.size(); ++c) {
            const uint64_t first = base + cuts[c] * m_strides[d];
            const uint64_t last = base + cuts[c + 1] * m_strides[d];
            if (last <= m_begin)
                continue;
            if (first >= m_end)
                return true;
            inside.clear();
            for (const uint32_t i : boxes) {
                if (m_boxes[i].offsets[d] <= cuts[c] && endOf(m_boxes[i], d) >= cuts[c + 1])
                    inside.push_back(i);
            }
            const bool alone = inside.size() == 1 && isWholeAfter(m_shape, m_boxes[inside.front()], d);
            if (alone ? !emit(inside.front(), first, last) : !walkRows(d, inside, first, last))
                return false;
        }
        return true;
    }

    bool walkRows(size_t d, const std::vector<uint32_t>& inside, uint64_t first, uint64_t last)
    {
        if (inside.empty() || d + 1 == m_shape.size())
            return true; // in no box, or in several
        const uint64_t skipped = m_begin > first ? (m_begin - first) / m_strides[d] * m_strides[d] : 0;
        for (uint64_t at = first + skipped; at < std::min(last, m_end); at += m_strides[d]) {
            if (!walk(d + 1, inside, at))
                return false;
        }
        return true;
    }

    bool emit(uint32_t box, uint64_t first, uint64_t last)
    {
        const uint64_t from = std::max(first, m_begin);
        const uint64_t to = std::min(last, m_end);
        return m_visit({box, from, m_boxes[box].elementOf(m_shape, from), to - from});
    }

    const Shape& m_shape;
    std::span<const Box> m_boxes;
    Shape m_strides;
    uint64_t m_begin;
    uint64_t m_end;
    const std::function<bool(const BoxRun&)>& m_visit;
};

bool spend(uint64_t& effort, uint64_t steps)
{
    const bool enough = steps <= effort;
    effort = enough ? effort - steps : 0;
    return enough;
}

/// Boxes as ranges of cells of the grid that all their borders form, if the grid is small: each cell must be
/// in exactly one box.
bool coverCells(std::span<const Box> boxes, const std::vector<std::vector<uint64_t>>& cuts, uint64_t cells)
{
    std::vector<bool> taken(cells, false);
    const size_t dimensions = cuts.size();
    for (const Box& box : boxes) {
        std::vector<uint64_t> first;
        std::vector<uint64_t> count;
        for (size_t d = 0; d < dimensions; ++d) {
            const auto at = [&](uint64_t cut) {
                return static_cast<uint64_t>(
                    std::lower_bound(cuts[d].begin(), cuts[d].end(), cut) - cuts[d].begin());
            };
            first.push_back(at(box.offsets[d]));
            count.push_back(at(endOf(box, d)) - first.back());
        }
        std::vector<uint64_t> step(dimensions, 0);
        for (bool more = true; more;) {
            uint64_t cell = 0;
            for (size_t d = 0; d < dimensions; ++d)
                cell = cell * (cuts[d].size() - 1) + first[d] + step[d];
            if (taken[cell])
                return false;
            taken[cell] = true;
            more = false;
            for (size_t d = dimensions; d-- > 0 && !more;) {
                more = ++step[d] < count[d];
                if (!more)
                    step[d] = 0;
            }
        }
    }
    return true; // their elements are as many as the tensor's, so that none is left
}

bool overlap(const Box& a, const Box& b)
{
    for (size_t d = 0; d < a.sizes.size(); ++d) {
        if (endOf(a, d) <= b.offsets[d] || endOf(b, d) <= a.offsets[d])
            return false;
    }
    return true;
}

/// Pairs of boxes that share indices of the dimension with the most borders.
bool coverPairs(std::vector<Box> boxes, size_t d, uint64_t& effort)
{
    std::sort(
        boxes.begin(), boxes.end(), [d](const Box& a, const Box& b) { return a.offsets[d] < b.offsets[d]; });
    for (size_t i = 0; i < boxes.size(); ++i) {
        for (size_t k = i + 1; k < boxes.size() && boxes[k].offsets[d] < endOf(boxes[i], d); ++k) {
            if (!spend(effort, 1) || overlap(boxes[i], boxes[k]))
                return false;
        }
    }
    return true;
}

} // namespace

uint64_t Box::elementOf(const Shape& shape, uint64_t element) const
{
    uint64_t out = 0;
    uint64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        out += (element % shape[d] - offsets[d]) * stride;
        element /= shape[d];
        stride *= sizes[d];
    }
    return out;
}

void forEachBoxRun(const Shape& shape, std::span<const Box> boxes, uint64_t begin, uint64_t end,
    const std::function<bool(const BoxRun&)>& visit)
{
    RunWalk(shape, boxes, begin, end, visit).run();
}

void forEachRunOfBox(const Shape& shape, const Box& box, const std::function<void(const BoxRun&)>& visit)
{
    const uint64_t elements
        = std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<uint64_t>());
    forEachBoxRun(shape, std::span(&box, 1), 0, elements, [&](const BoxRun& run) {
        visit(run);
        return true;
    });
}

bool coverOnce(const Shape& shape, std::span<const Box> all, uint64_t& effort)
{
    std::vector<Box> boxes;
    uint64_t held = 0;
    for (const Box& box : all) {
        if (!isEmpty(box))
            boxes.push_back(box);
        held
            += isEmpty(box) ? 0 : elementCount(box.sizes).value_or(0); // inside the tensor, which has a count
        if (held > elementCount(shape).value_or(0))
            return false;
    }
    if (held != elementCount(shape).value_or(0) || !spend(effort, all.size()))
        return false;
    if (boxes.size() < 2)
        return true;
    std::vector<std::vector<uint64_t>> cuts(shape.size());
    size_t most = 0;
    std::optional<uint64_t> cells = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
        for (const Box& box : boxes) {
            cuts[d].push_back(box.offsets[d]);
            cuts[d].push_back(endOf(box, d));
        }
        std::sort(cuts[d].begin(), cuts[d].end());
        cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
        most = cuts[d].size() > cuts[most].size() ? d : most;
        cells = cells ? checkedMultiply<uint64_t>(*cells, cuts[d].size() - 1) : cells;
    }
    if (cells && *cells <= 16 * boxes.size() + 4096)
        return spend(effort, *cells) && coverCells(boxes, cuts, *cells);
    return coverPairs(std::move(boxes), most, effort);
}

} // namespace shardscope
