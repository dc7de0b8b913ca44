// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/file_extents.h"
#include "core/layout/map_query.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace shardscope::ui {

/// The files of a checkpoint as rows of a map, in the order of their names. Elements are bytes. Immutable;
/// thread-safe.
///
/// Cells are what one state has (Param), what no state uses (PaddingStored: pickles, directories, alignment),
/// what is after the end of a file (Outside), and missing files. Damaged files are errors.
class FileRows
{
public:
    /// As FileExtents. Costs O(stored runs): for a worker.
    FileRows(CheckpointPtr checkpoint, const std::stop_token& token);

    [[nodiscard]] const CheckpointPtr& checkpoint() const { return m_checkpoint; }
    [[nodiscard]] uint32_t rows() const { return static_cast<uint32_t>(m_files.size()); }
    [[nodiscard]] uint64_t columns() const { return m_longest; }
    [[nodiscard]] FileId idOf(uint32_t row) const { return m_files[row]; }
    [[nodiscard]] const CheckpointFile& file(uint32_t row) const { return m_checkpoint->file(m_files[row]); }
    [[nodiscard]] std::optional<uint32_t> rowOf(FileId file) const;
    [[nodiscard]] const std::string& longestName() const { return m_longestName; }
    [[nodiscard]] const std::vector<std::string>& states() const { return m_states; }

    [[nodiscard]] MapCell cellAt(uint32_t row, uint64_t byte) const;
    /// Of a cell that a state has.
    [[nodiscard]] const FileExtent& extentAt(uint32_t row, uint64_t byte) const;
    [[nodiscard]] int8_t worstSeverity(uint32_t rowBegin, uint32_t rowEnd, uint64_t begin) const;
    /// Elements are the bytes that states use; padding, the others of the file.
    [[nodiscard]] MapQuery::Sum amounts(uint32_t row, uint64_t begin, uint64_t end) const;
    /// A hue of MapPalette. Neighbours differ, and none is like what no state uses.
    [[nodiscard]] static size_t hueOf(uint32_t state);

private:
    /// Without what overlaps, also with the end of a damaged file: cells rely on it.
    void addExtents(const CheckpointFile& file, std::span<const FileExtent> extents);

    CheckpointPtr m_checkpoint;
    std::vector<FileId> m_files; ///< by row
    std::vector<std::vector<FileExtent>> m_extents; ///< by row; ascending
    std::vector<std::string> m_states;
    std::string m_longestName;
    uint64_t m_longest = 0; ///< bytes of the longest file
};
using FileRowsPtr = std::shared_ptr<const FileRows>;

} // namespace shardscope::ui
