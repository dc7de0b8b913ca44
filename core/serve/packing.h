// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::serve {

/// A payload in zlib's form (RFC 1950). Nothing where that saves less than a quarter: then it only costs
/// time. Thread-safe.
std::optional<std::string> deflated(std::string_view payload);

/// The inverse. Hostile if it does not hold exactly so many bytes, or if they are above the limit of a
/// payload.
Result<std::string> inflated(std::string_view packed, size_t bytes);

} // namespace shardscope::serve
