// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A run of bytes of a file, from its start.
struct ByteExtent {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool operator==(const ByteExtent&) const = default;
};

/// Parts of a file that are kept when the rest is dropped: ascending, disjoint, not adjacent, not empty, with
/// their bytes one after another. Not thread-safe while it grows.
class KeptBytes
{
public:
    /// `offset` is not before the end of what is there already.
    void add(uint64_t offset, std::string_view bytes);

    [[nodiscard]] const std::vector<ByteExtent>& extents() const { return m_extents; }
    [[nodiscard]] const std::string& bytes() const { return m_bytes; }
    /// The bytes from `offset` of the file, where all of them are kept; empty elsewhere.
    [[nodiscard]] std::span<char> at(uint64_t offset, uint64_t bytes);

private:
    std::vector<ByteExtent> m_extents;
    std::vector<uint64_t> m_places; ///< by extent: where its bytes begin
    std::string m_bytes;
};

/// Where the bytes of each extent begin, one after another.
std::vector<uint64_t> placesOf(std::span<const ByteExtent> extents);
/// Fills `out` with what `extents` keep of [offset, offset + out.size()), zeros between; whether any was
/// kept. `bytes` are those of the extents, `places` their placesOf().
bool readKept(std::span<const ByteExtent> extents, std::span<const uint64_t> places, std::string_view bytes,
    uint64_t offset, std::span<uint8_t> out);

} // namespace shardscope
