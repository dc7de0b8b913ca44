// SPDX-License-Identifier: Apache-2.0
#include "core/engine/write/output_build.h"

#include "core/base/text.h"
#include "core/plan/model/output_bytes.h"

namespace shardscope {

Status writeRunFolderFiles(io::FileSystem& files, const WalkContext& context, const WorkFolder& work,
    ChunkBuffers& buffers, const OutputFileSettings& settings)
{
    for (const OutputFile& file : context.plan.runFolderFiles) {
        SHARDSCOPE_TRY(const uint64_t bytes, outputBytes(file));
        SHARDSCOPE_CHECK(writeOutputFile(
            files, context, {file, bytes, work.runFilesFolder() / file.path}, buffers, settings));
    }
    return {};
}

Status readBackChanged(io::FileSystem& files, const WritePlan& plan, const WorkFolder& work,
    const std::vector<const WrittenFile*>& written, ReadBack& readBack)
{
    for (size_t i = 0; i < written.size(); ++i) {
        const io::Path place = work.placeOf(written[i]->path);
        const auto info = files.stat(place);
        if (!info && info.error().code == ErrorCode::NotFound)
            return fail(ErrorCode::WriteFailed, "another program removed a finished file of the job",
                place.string(), "run the same command again: it is written again");
        if (!info)
            return forward(info.error());
        if (info->identity == written[i]->left)
            continue;
        SHARDSCOPE_TRY(const OutputFile recipe, plan.recipe(i));
        SHARDSCOPE_CHECK(
            readBackOutputFile(files, {recipe, written[i]->bytes, place}, *written[i], readBack));
    }
    return readBack.finish();
}

Error withMissingBytes(io::FileSystem& files, const io::Path& folder, uint64_t needed, Error error)
{
    const auto space = files.space(folder);
    if (space && space->freeBytes < needed)
        error.message += "; " + formatCount(needed) + " more bytes are needed, "
            + formatCount(space->freeBytes) + " are free, " + formatCount(needed - space->freeBytes) + " ("
            + formatBytes(needed - space->freeBytes) + ") are missing";
    error.hint = "free some space there and run the same command again; finished files are kept";
    return error;
}

} // namespace shardscope
