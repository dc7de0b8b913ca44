// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/pickle_graph.h"

#include <string>
#include <string_view>

namespace shardscope {

/// A plain value in one canonical spelling, so that equal values compare and digest equal whatever pickled
/// them: null, true, 7, 0.10000000000000001 (%.17g), "text" (backslashes before `"` and `\`), [a,b] for lists
/// and tuples, {"k":v,…} for mappings, their entries in ascending order of the bytes of `"k":v`, {a,b} for
/// sets likewise, <bytes HEX>; dtypes and other names as <torch.float16>. Instances are <class {attributes}>,
/// other calls <name [arguments]>, as numpy's numbers are, without the module, which moves between releases;
/// further items, entries and state stand behind the arguments.
std::string scalarText(const PickleGraph& graph, NodeId node);

/// The same, and what of the value it does not tell: empty where it tells everything.
struct ScalarSpelling {
    std::string text;
    std::string_view lacks; ///< "the values of a tensor", …
};
ScalarSpelling spellScalar(const PickleGraph& graph, NodeId node);

} // namespace shardscope
