// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace shardscope {

/// A rank of the run: its place among data, tensor and pipeline parallel ranks.
struct RankCoordinate {
    uint32_t dp = 0;
    uint32_t tp = 0;
    uint32_t pp = 0;
    bool operator==(const RankCoordinate&) const = default;
};
/// "dp3.tp0.pp0"
std::string rankText(const RankCoordinate& rank);

/// `NAME#STATE[a:b]`: half-open elements of the flattened tensor; without a range, the whole tensor. Without
/// a state only in places (place.h): every state.
struct ParamAddress {
    std::string name;
    std::string state{};
    std::optional<std::pair<uint64_t, uint64_t>> range{};
    bool operator==(const ParamAddress&) const = default;
};

/// `dpD.tpT.ppP/groupG+E` or `…/subgroupG+E`, optionally `@STATE`: element E of that flat buffer. `+A:B`:
/// its elements from A to before B.
struct FlatAddress {
    RankCoordinate rank;
    bool subgroup = false;
    uint32_t group = 0; ///< group or sub-group number
    uint64_t element = 0;
    std::string state{}; ///< empty = fp32
    std::optional<uint64_t> end{}; ///< above `element`; absent: one element
    [[nodiscard]] uint64_t last() const { return end.value_or(element + 1); } ///< exclusive
    bool operator==(const FlatAddress&) const = default;
};

/// `PATH!RECORD+B`: byte of a record; `PATH+B`: byte of the file. PATH is relative to the tag folder.
struct FileAddress {
    std::string path;
    std::string record{}; ///< empty: `byte` counts from the start of the file
    uint64_t byte = 0;
    bool operator==(const FileAddress&) const = default;
};

using Address = std::variant<ParamAddress, FlatAddress, FileAddress>;

/// The spelling of cli.md, "Addresses": `% # ! [ ] + @` and control bytes of NAME and PATH as %HH.
std::string formatAddress(const Address& address);
/// Usage if the text is not an address. With `#` it is a parameter, else with `!` a file, else a rank or
/// PATH+B.
Result<Address> parseAddress(std::string_view text);

} // namespace shardscope
