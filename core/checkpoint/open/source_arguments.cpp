// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/open/source_arguments.h"

namespace shardscope {

SourceArguments sourceArguments(const io::Path& path, const OpenOptions& options)
{
    SourceArguments out{path, {}};
    std::vector<io::Path> roots = options.roots;
    if (options.salvage && !roots.empty()) { // the command line takes the swap folder first
        out.path = roots.front();
        out.options = {"--donor", path.string()};
        roots.erase(roots.begin());
    }
    if (!options.tag.empty())
        out.options.insert(out.options.end(), {"--tag", options.tag});
    if (options.kind)
        out.options.insert(out.options.end(), {"--kind", std::string(kindName(*options.kind))});
    for (const io::Path& root : roots)
        out.options.insert(out.options.end(), {"--root", root.string()});
    return out;
}

std::vector<std::string> askedKinds()
{
    std::vector<std::string> out;
    for (const KindTraits& traits : kKindTraits) {
        if (!isUnknown(traits.kind))
            out.emplace_back(traits.name);
    }
    return out;
}

} // namespace shardscope
