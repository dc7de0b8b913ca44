// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <cstddef>
#include <map>
#include <string>

namespace shardscope::ui {

/// Where in a file's object tree each storage is used first: key of the storage ("7" for the record "data/7")
/// to the dotted way there ("optimizer_state_dict.state.0.step"). Looks at no more than `most` nodes, so that
/// a malicious endless tree does not block; later nodes are left out.
std::map<std::string, std::string> tensorPaths(const PickleGraph& graph, size_t most = 2'000'000);

} // namespace shardscope::ui
