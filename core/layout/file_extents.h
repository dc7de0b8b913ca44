// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <span>
#include <stop_token>
#include <vector>

namespace shardscope {

/// Bytes of a file that hold elements of one state.
struct FileExtent {
    uint64_t begin = 0; ///< bytes from the start of the file
    uint64_t end = 0;
    FileId file = kNoFile;
    UnitId unit = kNoUnit; ///< kNoUnit: a tensor that is stored whole
    uint32_t state = 0; ///< index into FileExtents::states()
    uint32_t share = 0; ///< rank in the unit's partition
    ParamId param = kNoParam; ///< kNoParam: a flat buffer
};

/// Where the states of a checkpoint are in its files. What lies between extents is pickles, directories,
/// alignment and records that no state uses. Immutable; thread-safe.
class FileExtents
{
public:
    /// Visits every stored run once. Runs without a known place are left out. Stops early, with what it has,
    /// when `token` asks.
    FileExtents(const Checkpoint& checkpoint, const std::stop_token& token);

    /// Of one file, by their begin; runs that several states share follow one another.
    [[nodiscard]] std::span<const FileExtent> of(FileId file) const;
    /// The first extent that ends after a byte; the end of the list if there is none.
    [[nodiscard]] static size_t firstAfter(std::span<const FileExtent> extents, uint64_t byte);
    [[nodiscard]] const std::vector<std::string>& states() const { return m_states; }
    /// Bytes of the file that extents cover, shared ones once.
    [[nodiscard]] uint64_t covered(FileId file) const;

private:
    void addRun(const StoredRun& run, DType dtype, FileExtent extent);
    [[nodiscard]] uint32_t stateNumber(const std::string& name);

    std::vector<FileExtent> m_extents; ///< by file, then begin
    std::vector<size_t> m_begins; ///< by file, and one more
    std::vector<std::string> m_states;
};

} // namespace shardscope
