// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/text_file.h"

#include "core/io/published_file.h"

namespace shardscope::cli {

Status writeTextFile(const Session& session, const std::string& path, const std::string& text, bool replace)
{
    if (session.shared() != nullptr && session.shared()->rank() > 0)
        return {}; // the first process writes it
    if (path == kStandardOutput)
        return session.output().writeFile(text);
    io::FileSystem& files = session.files();
    SHARDSCOPE_TRY(const auto file, io::createForPublishing(files, path, replace));
    return io::publishFile(files, *file, path, replace,
        file->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
}

Status checkStandardOutput(const Arguments& arguments, const std::vector<std::string>& fileOptions)
{
    std::string first = arguments.has("--json") ? "--json" : "";
    for (const std::string& option : fileOptions) {
        if (arguments.text(option) != kStandardOutput)
            continue;
        if (!first.empty())
            return fail(ErrorCode::Usage, first + " and " + option + " - both write to standard output", {},
                "name a file for " + option);
        first = option + " -";
    }
    return {};
}

Status requireFile(const std::string& path, const std::string& name, const std::string& hint)
{
    if (path != kStandardOutput)
        return {};
    return fail(ErrorCode::Usage, name + " cannot be standard output", {}, hint);
}

} // namespace shardscope::cli
