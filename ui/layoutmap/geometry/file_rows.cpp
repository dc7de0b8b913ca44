// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/file_rows.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>

namespace shardscope::ui {

FileRows::FileRows(CheckpointPtr checkpoint, const std::stop_token& token)
    : m_checkpoint(std::move(checkpoint))
{
    for (uint32_t i = 0; i < m_checkpoint->files.size(); ++i) {
        m_files.push_back(FileId{i});
        const CheckpointFile& file = m_checkpoint->files[i];
        m_longest = std::max(m_longest, file.identity.bytes);
        if (file.name.size() > m_longestName.size())
            m_longestName = file.name;
    }
    std::sort(m_files.begin(), m_files.end(), [this](FileId a, FileId b) {
        return compareNaturally(m_checkpoint->file(a).name, m_checkpoint->file(b).name) < 0;
    });
    const FileExtents extents(*m_checkpoint, token);
    m_states = extents.states();
    for (const FileId file : m_files)
        addExtents(m_checkpoint->file(file), extents.of(file));
}

void FileRows::addExtents(const CheckpointFile& file, std::span<const FileExtent> extents)
{
    std::vector<FileExtent>& row = m_extents.emplace_back();
    uint64_t end = 0;
    for (FileExtent extent : extents) {
        extent.begin = std::max(extent.begin, end);
        extent.end = std::min(extent.end, file.identity.bytes);
        if (extent.begin < extent.end) {
            row.push_back(extent);
            end = extent.end;
        }
    }
}

std::optional<uint32_t> FileRows::rowOf(FileId file) const
{
    const auto found = std::find(m_files.begin(), m_files.end(), file);
    return found == m_files.end() ? std::nullopt
                                  : std::optional(static_cast<uint32_t>(found - m_files.begin()));
}

MapCell FileRows::cellAt(uint32_t row, uint64_t byte) const
{
    MapCell cell{.kind = CellKind::Missing, .begin = 0, .end = m_longest};
    const uint64_t size = file(row).identity.bytes;
    if (file(row).status == FileStatus::Missing)
        return cell;
    if (byte >= size) {
        cell.kind = CellKind::Outside;
        cell.begin = size;
        return cell;
    }
    const std::vector<FileExtent>& extents = m_extents[row];
    const size_t at = FileExtents::firstAfter(extents, byte);
    if (at < extents.size() && extents[at].begin <= byte) {
        cell.kind = CellKind::Param;
        cell.param = extents[at].param;
        cell.begin = extents[at].begin;
        cell.end = extents[at].end;
    } else {
        cell.kind = CellKind::PaddingStored;
        cell.begin = at == 0 ? 0 : extents[at - 1].end;
        cell.end = at == extents.size() ? size : extents[at].begin;
    }
    cell.severity = worstSeverity(row, row + 1, byte);
    return cell;
}

const FileExtent& FileRows::extentAt(uint32_t row, uint64_t byte) const
{
    return m_extents[row][FileExtents::firstAfter(m_extents[row], byte)];
}

int8_t FileRows::worstSeverity(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin) const
{
    for (uint32_t row = rowBegin; row < rowEnd; ++row)
        if (file(row).status == FileStatus::Damaged && begin < file(row).identity.bytes)
            return 2;
    return -1;
}

MapQuery::Sum FileRows::amounts(uint32_t row, uint64_t begin, uint64_t end) const
{
    MapQuery::Sum sum{.files = 1};
    end = std::min(end, file(row).identity.bytes);
    while (begin < end) {
        const MapCell cell = cellAt(row, begin);
        const uint64_t to = std::min(cell.end, end);
        (cell.kind == CellKind::Param ? sum.elements : sum.padding) += to - begin;
        begin = to;
    }
    sum.stored = sum.elements + sum.padding;
    sum.bytes = sum.stored;
    return sum;
}

size_t FileRows::hueOf(uint32_t state)
{
    constexpr std::array<size_t, 6> kHues{0, 5, 2, 7, 3, 8};
    return kHues[state % kHues.size()];
}

} // namespace shardscope::ui
