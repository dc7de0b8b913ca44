// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <span>
#include <string_view>

namespace shardscope {

/// One key of a pickled mapping, and the member of a view that holds the key's value.
template <class View>
struct ViewKey {
    std::string_view name;
    NodeId View::*member;
};

/// Fills the members of `out` from a mapping, in one pass. Members whose key is missing keep their value. As
/// in Python, the last of several equal keys counts. Does nothing if `mapping` is not a mapping.
template <class View>
void readKeys(const PickleGraph& graph, NodeId mapping, std::span<const ViewKey<View>> keys, View& out)
{
    const auto items = mappingItems(graph, mapping);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        for (const ViewKey<View>& key : keys) {
            if (name && key.name == *name)
                out.*key.member = items[i + 1];
        }
    }
}

} // namespace shardscope
