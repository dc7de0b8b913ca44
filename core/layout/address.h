// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>
#include <variant>

namespace shardscope {

/// `NAME#STATE[a:b]`: half-open elements of the flattened tensor; without a range, the whole tensor.
struct ParamAddress {
    std::string name;
    std::string state;
    std::optional<std::pair<uint64_t, uint64_t>> range;
    bool operator==(const ParamAddress&) const = default;
};

/// `dpD.tpT.ppP/groupG+E` or `…/subgroupG+E`, optionally `@STATE`: element E of that flat buffer.
struct FlatAddress {
    RankCoordinate rank;
    bool subgroup = false;
    uint32_t group = 0; ///< group or sub-group number
    uint64_t element = 0;
    std::string state; ///< empty = fp32
    bool operator==(const FlatAddress&) const = default;
};

/// `PATH!RECORD+B`: byte of a record; `PATH+B`: byte of the file. PATH is relative to the tag folder.
struct FileAddress {
    std::string path;
    std::string record; ///< empty: `byte` counts from the start of the file
    uint64_t byte = 0;
    bool operator==(const FileAddress&) const = default;
};

using Address = std::variant<ParamAddress, FlatAddress, FileAddress>;

/// The spelling of cli.md, "Addresses": `% # ! [ ] + @` and control bytes of NAME and PATH as %HH.
std::string formatAddress(const Address& address);
/// The address of an element in a rank's partition of a flat unit (FlatUnit::isFlat).
FlatAddress flatAddressOf(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t partitionRank,
    uint64_t element, std::string state);
/// Usage if the text is not an address. With `#` it is a parameter, else with `!` a file, else a rank or
/// PATH+B.
Result<Address> parseAddress(std::string_view text);
/// The same, but an exact parameter name means that parameter (state fp32, else weight).
Result<Address> parseAddress(std::string_view text, const Checkpoint& checkpoint);

/// The file that a Finding::where names: a plain name, or the path of a file address. Empty for other
/// addresses.
std::string fileOfPlace(const std::string& where);

/// One place in all forms of address. Parts that do not exist are empty: padding has no parameter, a missing
/// shard no file.
struct Location {
    std::optional<ParamAddress> param; ///< range: one element; empty for padding
    std::optional<FlatAddress> flat;
    std::optional<FileAddress> file; ///< with record
    uint64_t fileByte = 0; ///< the same byte from the start of the file; valid when `file` is set
    bool padding = false; ///< the flat position is padding
    bool paddingStored = false; ///< the padding has bytes in the file
};

/// Converts any form of address to all others. For a parameter without a range: its first element.
/// NotFound if the checkpoint has no such parameter, state, rank, group, file or byte.
Result<Location> locate(const Checkpoint& checkpoint, const Address& address);

} // namespace shardscope
