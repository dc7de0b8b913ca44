// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/heat_samples.h"

#include "core/base/current_stop.h"
#include "core/layout/present_elements.h"

#include <algorithm>
#include <cmath>

namespace shardscope::ui {

namespace {

constexpr uint64_t kMaxSide = 320; ///< so that recolouring takes a few milliseconds
constexpr uint64_t kFewSide = 96; ///< where every value is a read of its own
constexpr uint64_t kWholeBytes = uint64_t{8} << 20;
constexpr uint64_t kStepBytes = uint64_t{1} << 20;
constexpr size_t kCellsAtOnce = 4096;
constexpr uint64_t kLineBytes = uint64_t{128} << 10;

HeatKind kindOf(double value)
{
    return std::isnan(value) ? HeatKind::NotANumber
        : std::isinf(value)  ? HeatKind::Infinite
                             : HeatKind::Value;
}

/// Which of two elements in one pixel is shown.
int rankOf(HeatKind kind)
{
    switch (kind) {
    case HeatKind::NotANumber:
        return 4;
    case HeatKind::Infinite:
        return 3;
    case HeatKind::Missing:
        return 2;
    case HeatKind::Value:
        return 1;
    case HeatKind::Nothing:
        break;
    }
    return 0;
}

class Reader
{
public:
    Reader(io::FileSystem& files, const TensorSource& source, const TensorSlice& slice,
        const std::stop_token& token)
        : m_files(files)
        , m_source(source)
        , m_slice(slice)
        , m_token(token)
    {
    }

    HeatSamples read()
    {
        const uint64_t rows = m_slice.rows();
        const uint64_t columns = m_slice.columns();
        if (m_slice.isEmpty())
            return {};
        const uint64_t first = *m_slice.elementAt({0, 0});
        const uint64_t last = *m_slice.elementAt({rows - 1, columns - 1});
        const uint64_t item = m_source.itemBytes();
        const bool isFar = m_source.isFar();
        const bool byRows = !isFar && m_slice.columnStride() == 1 && columns * item <= kLineBytes;
        const bool byColumns = !isFar && m_slice.rowStride() == 1 && rows * item <= kLineBytes;
        const bool whole = (last - first + 1) * item <= (isFar ? TensorSource::kWholeFarBytes : kWholeBytes);
        resize(whole || byRows || byColumns ? kMaxSide : kFewSide);
        m_out.sampled = !whole;
        if (whole) {
            readRun(first, last + 1);
        } else if (byRows) {
            for (int y = 0; y < m_out.height && !m_token.stop_requested(); ++y)
                readLine({rowOf(y), 0}, columns);
        } else if (byColumns) {
            for (int x = 0; x < m_out.width && !m_token.stop_requested(); ++x)
                readLine({0, columnOf(x)}, rows);
        } else {
            readCells();
        }
        if (m_token.stop_requested())
            return {};
        findRange();
        return std::move(m_out);
    }

private:
    void resize(uint64_t most)
    {
        m_out.width = static_cast<int>(std::min(m_slice.columns(), most));
        m_out.height = static_cast<int>(std::min(m_slice.rows(), most));
        const size_t count = static_cast<size_t>(m_out.width) * static_cast<size_t>(m_out.height);
        m_out.values.assign(count, 0);
        m_out.kinds.assign(count, HeatKind::Nothing);
        m_out.elements.assign(count, HeatSamples::kNoElement);
    }

    [[nodiscard]] uint64_t rowOf(int y) const { return middle(y, m_out.height, m_slice.rows()); }
    [[nodiscard]] uint64_t columnOf(int x) const { return middle(x, m_out.width, m_slice.columns()); }
    static uint64_t middle(int at, int count, uint64_t of)
    {
        const double share = (static_cast<double>(at) + 0.5) / static_cast<double>(count);
        return std::min(static_cast<uint64_t>(share * static_cast<double>(of)), of - 1);
    }

    void take(uint64_t element, double value, HeatKind kind)
    {
        const auto cell = m_slice.cellOf(element);
        if (!cell)
            return;
        const auto part = [](uint64_t position, uint64_t of, int pixels) {
            return static_cast<size_t>(
                static_cast<double>(position) / static_cast<double>(of) * static_cast<double>(pixels));
        };
        const size_t at = part(cell->row, m_slice.rows(), m_out.height) * static_cast<size_t>(m_out.width)
            + part(cell->column, m_slice.columns(), m_out.width);
        const bool wins = rankOf(kind) > rankOf(m_out.kinds[at])
            || (kind == HeatKind::Value && m_out.kinds[at] == HeatKind::Value
                && std::abs(value) > std::abs(m_out.values[at]));
        if (wins) {
            m_out.values[at] = value;
            m_out.kinds[at] = kind;
            m_out.elements[at] = element;
        }
    }

    /// One element of each cell, many of them together.
    void readCells()
    {
        StateRuns wanted{m_source.param, m_source.state, {}};
        for (int y = 0; y < m_out.height && !m_token.stop_requested(); ++y) {
            for (int x = 0; x < m_out.width; ++x) {
                if (const auto element = m_slice.elementAt({rowOf(y), columnOf(x)}))
                    wanted.runs.emplace_back(*element, *element + 1);
            }
            if (wanted.runs.size() >= kCellsAtOnce || y + 1 == m_out.height) {
                readCells(wanted);
                wanted.runs.clear();
            }
        }
    }

    void readCells(const StateRuns& wanted)
    {
        const uint64_t item = m_source.itemBytes();
        m_bytes.resize(wanted.runs.size() * item);
        const auto missing = readPresentRuns(m_files, *m_source.checkpoint, wanted, m_bytes);
        for (size_t i = 0; i < wanted.runs.size(); ++i) {
            const bool lost = !missing || std::ranges::binary_search(*missing, wanted.runs[i]);
            const double value = lost ? 0 : elementAsDouble(m_source.dtype, m_bytes.data() + i * item);
            take(wanted.runs[i].first, value, lost ? HeatKind::Missing : kindOf(value));
        }
    }

    void readLine(TensorSlice::Cell from, uint64_t count)
    {
        if (const auto first = m_slice.elementAt(from))
            readRun(*first, std::min(*first + count, m_source.elements));
    }

    void readRun(uint64_t begin, uint64_t end)
    {
        const uint64_t item = m_source.itemBytes();
        const uint64_t step = std::max<uint64_t>(kStepBytes / item, 1);
        for (uint64_t at = begin; at < end && !m_token.stop_requested(); at += step) {
            const uint64_t stop = std::min(at + step, end);
            m_bytes.resize((stop - at) * item);
            const auto missing = readPresentElements(
                m_files, *m_source.checkpoint, {m_source.param, m_source.state, at, stop}, m_bytes);
            size_t gap = 0;
            for (uint64_t element = at; element < stop; ++element) {
                while (missing && gap < missing->size() && element >= (*missing)[gap].second)
                    ++gap;
                const bool lost = !missing || (gap < missing->size() && element >= (*missing)[gap].first);
                const double value
                    = lost ? 0 : elementAsDouble(m_source.dtype, m_bytes.data() + (element - at) * item);
                take(element, value, lost ? HeatKind::Missing : kindOf(value));
            }
        }
    }

    void findRange()
    {
        for (size_t i = 0; i < m_out.values.size(); ++i) {
            if (m_out.kinds[i] != HeatKind::Value)
                continue;
            m_out.low = m_out.anyFinite ? std::min(m_out.low, m_out.values[i]) : m_out.values[i];
            m_out.high = m_out.anyFinite ? std::max(m_out.high, m_out.values[i]) : m_out.values[i];
            m_out.anyFinite = true;
        }
    }

    io::FileSystem& m_files;
    const TensorSource& m_source;
    const TensorSlice& m_slice;
    const std::stop_token& m_token;
    HeatSamples m_out;
    std::vector<uint8_t> m_bytes;
};

} // namespace

std::vector<QLine> rankBorders(const ElementPlaces& places, const TensorSlice& slice, int width, int height)
{
    std::vector<QLine> out;
    if (places.runs().empty() || width == 0 || height == 0)
        return out;
    const auto first = [](int cell, int cells, uint64_t of) { // the first position that is drawn in the cell
        return static_cast<uint64_t>(std::ceil(static_cast<double>(cell) * static_cast<double>(of) / cells));
    };
    std::vector<size_t> above(static_cast<size_t>(width), ElementPlaces::kNoRun);
    size_t edges = 0;
    const auto add = [&](QLine line) { // a line that continues the last one is part of it
        ++edges;
        if (!out.empty() && out.back().p2() == line.p1() && out.back().dy() == 0 && line.dy() == 0)
            out.back().setP2(line.p2());
        else
            out.push_back(line);
    };
    for (int y = 0; y < height; ++y) {
        size_t left = ElementPlaces::kNoRun;
        for (int x = 0; x < width; ++x) {
            const auto element
                = slice.elementAt({first(y, height, slice.rows()), first(x, width, slice.columns())});
            const size_t run = element ? places.runOf(*element) : ElementPlaces::kNoRun;
            if (y > 0 && run != above[static_cast<size_t>(x)])
                add({x, y, x + 1, y});
            if (x > 0 && run != left)
                add({x, y, x, y + 1});
            above[static_cast<size_t>(x)] = run;
            left = run;
        }
    }
    const bool isCrowded = edges * 3 > static_cast<size_t>(width) * static_cast<size_t>(height);
    return isCrowded ? std::vector<QLine>() : out;
}

HeatSamples readHeat(
    io::FileSystem& files, const TensorSource& source, const TensorSlice& slice, const std::stop_token& token)
{
    const StopScope scope(token);
    return Reader(files, source, slice, token).read();
}

} // namespace shardscope::ui
