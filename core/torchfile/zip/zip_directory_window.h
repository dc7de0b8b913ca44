// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/torchfile/zip/zip_directory.h"

#include <span>
#include <vector>

namespace shardscope::zip {

/// A sliding view of an archive's headers. Headers of small records are next to each other, so one read
/// serves many; the end of the file is kept, since it is needed first and usually holds the whole directory.
/// Not thread-safe.
class HeaderWindow
{
public:
    static constexpr uint64_t kTailBytes = ZipDirectory::kEndBytes;
    static constexpr uint64_t kWindowBytes = 1 << 20;

    explicit HeaderWindow(const io::ReadFile& file)
        : m_file(file)
    {
    }

    /// The last bytes of the file, at most kTailBytes of them.
    Result<std::span<const uint8_t>> tail();
    [[nodiscard]] uint64_t tailOffset() const { return m_tailOffset; }

    [[nodiscard]] bool holds(uint64_t offset, uint64_t length) const;
    /// `length` bytes at `offset`, valid until the next call. Reads up to `ahead` bytes (at most
    /// kWindowBytes) where they have to be read at all. Damaged past the end of the file.
    Result<std::span<const uint8_t>> view(uint64_t offset, uint64_t length, uint64_t ahead = 0);

private:
    const io::ReadFile& m_file;
    std::vector<uint8_t> m_tail;
    std::vector<uint8_t> m_window; ///< grows and is reused: its pages are touched once
    uint64_t m_tailOffset = UINT64_MAX;
    uint64_t m_windowOffset = 0;
    uint64_t m_windowBytes = 0; ///< of m_window, that hold the file's
};

} // namespace shardscope::zip
