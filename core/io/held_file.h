// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/forwarding_file_system.h"

#include <map>

namespace shardscope::io {

/// An open file with ranges of it in memory, read beforehand together with those of other files
/// (FileSystem::readAll). Other ranges are read when they are asked for. Thread-safe once it holds its
/// ranges.
class HeldFile final : public ForwardingReadFile
{
public:
    explicit HeldFile(std::unique_ptr<ReadFile> file)
        : ForwardingReadFile(std::move(file))
    {
    }

    /// Room for a range to be filled by the caller before anything is read; empty where it is already held.
    /// Ranges are cut at the end of the file.
    std::span<uint8_t> reserve(uint64_t offset, uint64_t bytes);
    /// Forgets a range whose read failed: whoever asks for it reads it again, and gets the error.
    void forget(uint64_t offset) { m_held.erase(offset); }
    void forgetAll() { m_held.clear(); }

    Status readAt(uint64_t offset, std::span<uint8_t> out) const override;
    [[nodiscard]] uint64_t readyBytes(uint64_t offset) const override;
    /// Success: whoever made the file asks for all files at once (FileSystem::checkAllUnchanged).
    Status checkUnchanged() const override { return {}; }

private:
    /// The held bytes from `offset` on; empty where there are none.
    [[nodiscard]] std::span<const uint8_t> heldFrom(uint64_t offset) const;

    std::multimap<uint64_t, std::vector<uint8_t>> m_held; ///< by offset; of equal ones the last is longest
};

/// A range to read into a file that holds it.
struct WantedRange {
    HeldFile* file = nullptr;
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

/// Reads all ranges together. A failure is no error here: whoever needs the bytes reads them again and gets
/// it.
void hold(FileSystem& files, std::span<const WantedRange> wanted);

} // namespace shardscope::io
