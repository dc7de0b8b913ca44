// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace shardscope {

/// Numbers by name, for names that mostly count, as those that torch gives storages: "0", "1", "2" and so
/// on. A list holds these; a map holds all others, without a hash that a crafted file could make collide. The
/// texts of the names must live longer. Thread-safe while nothing is added.
class CountedNames
{
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    /// For about so many names.
    explicit CountedNames(size_t count = 0)
        : m_counted(count, kNone)
    {
    }

    /// The number of a name; kNone, to be set, for a new one.
    uint32_t& operator[](std::string_view name);
    [[nodiscard]] std::optional<uint32_t> find(std::string_view name) const;

private:
    [[nodiscard]] std::optional<size_t> placeOf(std::string_view name) const;

    std::vector<uint32_t> m_counted;
    std::map<std::string_view, uint32_t> m_others;
};

} // namespace shardscope
