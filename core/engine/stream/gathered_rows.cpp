// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/gathered_rows.h"

#include "core/tensor/convert.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace shardscope {

namespace {

constexpr uint64_t kWindowBytes = uint64_t{1} << 20;
/// Columns are read together if the rows are at least this part of them.
constexpr uint64_t kWorthwhilePart = 4;

auto keyOf(const GatheredRow& row)
{
    const Segment& segment = row.segment;
    return std::tuple(segment.source, segment.record, segment.tensor, segment.sourceStep);
}

/// Rows of one matrix in one record.
class RowBlock
{
public:
    RowBlock(std::span<GatheredRow> rows, uint64_t elements)
        : m_first(rows.front().segment)
        , m_item(itemSize(m_first.sourceType))
        , m_columns(elements / m_first.sourceStep)
    {
        for (GatheredRow& row : rows) {
            Line line;
            line.row = row.segment.firstElement / m_columns;
            line.first = row.segment.firstElement % m_columns;
            line.end = line.first + row.segment.bytes / itemSize(row.segment.outputType);
            line.target = &row;
            m_lines.push_back(line);
            m_begin = std::min(m_begin, line.first);
            m_end = std::max(m_end, line.end);
        }
        m_home = m_lines.front();
    }

    Status load(const io::ReadFile& file)
    {
        const uint64_t height = m_first.sourceStep;
        const uint64_t perRead = m_lines.size() >= height / kWorthwhilePart
            ? std::max<uint64_t>(1, kWindowBytes / (height * m_item))
            : 1;
        for (uint64_t column = m_begin; column < m_end;) {
            const uint64_t end = std::min(m_end, column + perRead);
            SHARDSCOPE_CHECK(loadColumns(file, column, end));
            column = end;
        }
        return {};
    }

private:
    /// Columns [first, end) of a row.
    struct Line {
        uint64_t row = 0;
        uint64_t first = 0;
        uint64_t end = 0;
        GatheredRow* target = nullptr;
    };

    /// Byte of an element in the source file. The storage between two elements of the block is in its record
    /// too.
    [[nodiscard]] uint64_t byteOf(uint64_t row, uint64_t column) const
    {
        const uint64_t stored = column * m_first.sourceStep + row;
        const uint64_t home = m_home.first * m_first.sourceStep + m_home.row;
        return m_first.sourceOffset + stored * m_item - home * m_item;
    }

    Status loadColumns(const io::ReadFile& file, uint64_t begin, uint64_t end)
    {
        uint64_t from = UINT64_MAX;
        uint64_t to = 0;
        for (const Line& line : m_lines) {
            if (line.first >= end || line.end <= begin)
                continue;
            from = std::min(from, byteOf(line.row, std::max(begin, line.first)));
            to = std::max(to, byteOf(line.row, std::min(end, line.end) - 1) + m_item);
        }
        if (from >= to)
            return {};
        m_window.resize(to - from);
        SHARDSCOPE_CHECK(file.readAt(from, m_window));
        for (const Line& line : m_lines) {
            for (uint64_t column = std::max(begin, line.first); column < std::min(end, line.end); ++column)
                put(*line.target, column - line.first, m_window.data() + (byteOf(line.row, column) - from));
        }
        return {};
    }

    void put(const GatheredRow& row, uint64_t at, const uint8_t* value) const
    {
        const Segment& segment = row.segment;
        if (!segment.isConverted()) {
            std::memcpy(row.out.data() + at * m_item, value, m_item);
            return;
        }
        const uint64_t item = itemSize(segment.outputType);
        convertElements(
            segment.sourceType, {value, m_item}, segment.outputType, row.out.subspan(at * item, item));
    }

    Segment m_first;
    uint64_t m_item;
    uint64_t m_columns;
    uint64_t m_begin = UINT64_MAX;
    uint64_t m_end = 0;
    Line m_home; ///< the line of m_first
    std::vector<Line> m_lines;
    std::vector<uint8_t> m_window;
};

} // namespace

Status loadGatheredRows(std::vector<GatheredRow> rows, const std::function<uint64_t(uint32_t)>& elements,
    const std::function<Result<const io::ReadFile*>(uint32_t)>& open)
{
    std::stable_sort(
        rows.begin(), rows.end(), [](const auto& a, const auto& b) { return keyOf(a) < keyOf(b); });
    for (size_t first = 0; first < rows.size();) {
        size_t end = first + 1;
        while (end < rows.size() && keyOf(rows[end]) == keyOf(rows[first]))
            ++end;
        const Segment& segment = rows[first].segment;
        SHARDSCOPE_TRY(const io::ReadFile* file, open(segment.source));
        RowBlock block(std::span<GatheredRow>(rows).subspan(first, end - first), elements(segment.tensor));
        if (const Status read = block.load(*file); !read) {
            SHARDSCOPE_CHECK(file->checkUnchanged()); // reports a changed source first
            return read;
        }
        first = end;
    }
    return {};
}

} // namespace shardscope
