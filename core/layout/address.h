// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/address.h"
#include "core/checkpoint/model/checkpoint.h"

#include <optional>
#include <string>

namespace shardscope {

/// parseAddress(), but an exact parameter name means that parameter (state fp32, else weight).
Result<Address> parseAddress(std::string_view text, const Checkpoint& checkpoint);

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
