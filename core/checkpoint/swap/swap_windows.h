// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/swap/swap.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace shardscope {

/// A range of elements in a rank's part of a sub-group.
struct SwapWindow {
    uint64_t begin = 0; ///< element of the partition
    uint64_t elements = 0;
};

/// A few places of a rank's partition that hold elements of parameters. They are spread over the partition.
std::vector<SwapWindow> swapWindowsOf(const FlatUnit& unit, uint32_t rank);

/// What the optimizer file itself holds for a state of a swapped sub-group, if that is a whole tensor. Else
/// an absent run.
StoredRun swapCopyOf(const Reading& reading, const SwapSubject& subject, const SwappedState& state);

/// Reads windows of tensors. Keeps files open, because consecutive windows come from the same file.
class SwapWindowReader
{
public:
    explicit SwapWindowReader(const Reading& reading)
        : m_reading(reading)
    {
    }

    /// Empty if it cannot be read. A finding reports it once per file.
    std::vector<uint8_t> read(const StoredRun& run, const SwapWindow& window, DType dtype);

private:
    void complain(const Error& error) const;

    const Reading& m_reading;
    FileId m_id = kNoFile;
    std::unique_ptr<io::ReadFile> m_file;
};

} // namespace shardscope
