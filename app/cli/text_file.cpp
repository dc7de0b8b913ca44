// SPDX-License-Identifier: Apache-2.0
#include "app/cli/text_file.h"

#include "core/io/published_file.h"

namespace shardscope::cli {

Status writeTextFile(io::FileSystem& files, const io::Path& path, const std::string& text, bool replace)
{
    SHARDSCOPE_TRY(const auto file, io::createForPublishing(files, path, replace));
    return io::publishFile(files, *file, path, replace,
        file->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
}

} // namespace shardscope::cli
