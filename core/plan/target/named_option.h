// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// One option of an optimizer's param groups as somebody names it: "lr=1e-3", "betas=(0.9, 0.95)",
/// "1:weight_decay=0.0" for group 1 alone. Values are spelled as in Python: numbers, True, False, None, words
/// and quoted text, (tuples) and [lists]; `a, b` without brackets is a tuple.
struct NamedOption {
    std::optional<uint32_t> group; ///< all groups where it is unset
    std::string key;
    std::string value;
};

/// Usage, with the text, where it is none or its value cannot be read.
Result<NamedOption> parseNamedOption(std::string_view text);

/// A value as a node. Usage where it cannot be read.
Result<NodeId> optionValue(PickleBuilder& builder, std::string_view value);

} // namespace shardscope
