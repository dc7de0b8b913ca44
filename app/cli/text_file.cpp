// SPDX-License-Identifier: Apache-2.0
#include "app/cli/text_file.h"

namespace shardscope::cli {

Status writeTextFile(io::FileSystem& files, const io::Path& path, const std::string& text, bool replace)
{
    if (!replace && files.stat(path))
        return fail(ErrorCode::TargetExists, "the file exists", path.string(), "replace it with --force");
    io::Path work = path;
    work += ".partial";
    SHARDSCOPE_CHECK(files.removeTree(work));
    SHARDSCOPE_TRY(const auto file, files.create(work));
    Status done = file->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    if (done)
        done = file->sync();
    if (done)
        done = file->close();
    if (done)
        done = replace ? files.rename(work, path) : files.renameNoReplace(work, path);
    if (!done)
        (void)files.removeFile(work);
    return done;
}

} // namespace shardscope::cli
