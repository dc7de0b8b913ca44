// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/torch_file.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// A plain value in one canonical spelling. Equal values compare and digest equal, however they were pickled.
/// Spellings: null, true, 7, 0.10000000000000001 (%.17g), "text" (backslashes before `"` and `\`); [a,b] for
/// lists and tuples; {"k":v,…} for mappings, with entries in ascending byte order of `"k":v`; {a,b} for sets,
/// ordered likewise; <bytes HEX>; <torch.float16> for dtypes and other names; <class {attributes}> for
/// instances. Other calls are <name [arguments]>, such as numpy's numbers, without the module, which changes
/// between releases. Further items, entries and state follow the arguments.
std::string scalarText(const PickleGraph& graph, NodeId node);

/// The same, with a note on what the text leaves out of the value. The note is empty if the text is complete.
struct ScalarSpelling {
    std::string text;
    std::string_view lacks; ///< "the values of a tensor", …
};
ScalarSpelling spellScalar(const PickleGraph& graph, NodeId node);

/// The same for a value of an opened file, with the numbers of small tensors: one without dimensions is
/// spelled like its number, one with a single dimension like a list. The text lacks those of larger ones, and
/// of those that were not at hand when the file was opened (TorchFile::smallRecord).
std::string scalarText(const TorchFile& file, NodeId node);
ScalarSpelling spellScalar(const TorchFile& file, NodeId node);
/// For people: numbers have the fewest digits that are read back as the same number, 0.1.
ScalarSpelling spellShortly(const TorchFile& file, NodeId node);
/// A number, or that of a small tensor of one element.
std::optional<double> numberOf(const TorchFile& file, NodeId node);
/// "%.17g".
std::string realText(double value);
/// The fewest digits that are read back as the same number: 0.1, 1234567, 1e-08.
std::string shortRealText(double value);

} // namespace shardscope
