// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_values.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// One value that an optimizer keeps for a parameter, a param group or a sub-group.
struct StateValue {
    std::string name; ///< in a nested mapping: the names of its keys, joined by dots
    NodeId node = kNoNode;
};

/// All values of an optimizer's entry, those in nested dicts among them. bitsandbytes stores its tensors in a
/// dict of their own, and moves them out of it when it loads (optim/optimizer.py, load_state_dict), so that
/// the key of that dict is no part of their names. An entry that is no mapping is one value, `entry`.
std::vector<StateValue> stateValues(const PickleGraph& graph, NodeId entry);
/// The value of that name; kNoNode if the entry does not have it.
NodeId stateValue(const PickleGraph& graph, NodeId entry, std::string_view name);

/// How a copy of an entry is made.
struct EntryCopy {
    PickleBuilder& builder;
    std::function<NodeId(NodeId)> import; ///< of a key
    std::function<NodeId(const std::string& name, NodeId value)> valueOf;
};
/// An entry with the keys of `entry`, in the same nested dicts, and values of its own.
NodeId copyEntry(const PickleGraph& graph, NodeId entry, const EntryCopy& copy);

/// The class of a value, for messages: "torchao.….OptimState8bit", "a list of 3".
std::string classText(const PickleGraph& graph, NodeId value);
/// Whether a tensor is of a class whose elements mean something else than numbers of the parameter: one that
/// is neither torch's Tensor nor Parameter.
bool isTensorSubclass(const PickleGraph& graph, NodeId value);

} // namespace shardscope
