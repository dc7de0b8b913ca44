// SPDX-License-Identifier: Apache-2.0
#include "core/base/tested_releases.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace shardscope {

namespace {

using Release = std::array<uint32_t, 3>;

/// The first three numbers of a version. Later parts ("+local", ".dev1") do not matter here.
std::optional<Release> releaseOf(std::string_view version)
{
    Release out{};
    const char* at = version.data();
    const char* const end = at + version.size();
    for (size_t i = 0; i < out.size(); ++i) {
        const auto [next, error] = std::from_chars(at, end, out[i]);
        if (error != std::errc())
            return std::nullopt;
        if (i + 1 < out.size() && (next == end || *next != '.'))
            return std::nullopt;
        at = next + 1;
    }
    return out;
}

} // namespace

bool isNewerThanTested(std::string_view version)
{
    const auto release = releaseOf(version);
    return release && *release > *releaseOf(kTestedReleases.back());
}

} // namespace shardscope
