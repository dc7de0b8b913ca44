// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/open/open.h"

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace shardscope {

/// The arguments of a command that opens the same. Not quoted for a shell.
struct SourceArguments {
    io::Path path; ///< PATH or SRC
    std::vector<std::string>
        options; ///< --donor, --tag, --kind and --root with their values, where they are needed
};
SourceArguments sourceArguments(const io::Path& path, const OpenOptions& options);

/// The names of what --kind takes: every kind but "unknown".
std::vector<std::string> askedKinds();

/// Describes OpenOptions::kind of something stored. Absent where none was asked for.
template <class Kind>
void describeAskedKind(auto& out, Kind& kind)
{
    out.present("kind", kind.has_value(), [&] {
        std::string word(kind ? kindName(*kind) : std::string_view());
        out.word("kind", word, askedKinds(), "the kind that it was opened as, in place of the detected one");
        if constexpr (!std::is_const_v<Kind>)
            kind = kindNamed(word);
    });
}

} // namespace shardscope
