// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_file.h"

#include "core/io/sha256.h"

namespace shardscope {

namespace {

/// The unchanged copy of a source file takes no space if the file system can share its bytes. It is summed
/// and read back like any other file.
Result<bool> sharesSource(io::WriteFile& file, const WalkContext& context, const OutputFile& recipe)
{
    if (!recipe.copyOf)
        return false;
    SHARDSCOPE_TRY(const auto source, context.sources.open(*recipe.copyOf));
    return file.shareBytesOf(*source);
}

Result<WrittenFile> fill(io::WriteFile& file, const WalkContext& context, const OutputTask& task,
    ChunkBuffers& buffers, const OutputFileSettings& settings)
{
    const auto& [recipe, bytes, target] = task;
    SHARDSCOPE_TRY(const bool shared, sharesSource(file, context, recipe));
    if (!shared)
        SHARDSCOPE_CHECK(file.allocate(bytes));
    io::Sha256 sha;
    io::Xxh3 xxh3;
    uint64_t windowBegin = 0;
    ChunkSink sink(buffers, settings.threaded && bytes > buffers.bytes(),
        [&](uint64_t offset, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(context.halt.poll());
            {
                const StageTimer timer(context.times, Stage::Checksums);
                sha.update(chunk);
                xxh3.update(chunk);
            }
            const StageTimer timer(context.times, Stage::Writing);
            if (!shared)
                SHARDSCOPE_CHECK(file.writeAt(offset, chunk));
            const uint64_t end = offset + chunk.size();
            if (!shared && end - windowBegin >= settings.windowBytes) {
                SHARDSCOPE_CHECK(file.startWriteBack(windowBegin, end - windowBegin));
                windowBegin = end;
            }
            context.halt.job().advance(chunk.size());
            return {};
        });
    OutputWalk walk(context, recipe, sink);
    SHARDSCOPE_TRY(auto records, walk.run(bytes));
    const StageTimer timer(context.times, Stage::Writing);
    SHARDSCOPE_CHECK(file.sync());
    SHARDSCOPE_CHECK(file.close());
    return WrittenFile{recipe.path, bytes, sha.finishHex(), xxh3.digest(), std::move(records)};
}

} // namespace

Result<WrittenFile> writeOutputFile(io::FileSystem& files, const WalkContext& context, const OutputTask& task,
    ChunkBuffers& buffers, const OutputFileSettings& settings)
{
    io::Path unfinished = task.target;
    unfinished += ".tmp";
    SHARDSCOPE_TRY(auto file, files.create(unfinished, task.recipe.mode));
    Result<WrittenFile> written = fill(*file, context, task, buffers, settings);
    file.reset();
    if (written) {
        if (auto renamed = files.rename(unfinished, task.target); !renamed)
            written = forward(std::move(renamed).error());
    }
    if (!written)
        (void)files.removeFile(unfinished); // the next run removes it otherwise
    return written;
}

Result<WrittenFile> replayOutputFile(io::FileSystem& files, const WalkContext& context,
    const OutputTask& task, ChunkBuffers& buffers, const OutputFileSettings& settings)
{
    const auto& [recipe, bytes, target] = task;
    SHARDSCOPE_TRY(const auto file, files.openRead(target));
    io::Sha256 sha;
    io::Xxh3 xxh3;
    ChunkSink sink(buffers, settings.threaded && bytes > buffers.bytes(),
        [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(context.halt.poll());
            sha.update(chunk);
            xxh3.update(chunk);
            context.halt.job().advance(chunk.size());
            return {};
        });
    OutputWalk walk(context, recipe, sink, file.get());
    SHARDSCOPE_TRY(auto records, walk.run(bytes));
    return WrittenFile{recipe.path, bytes, sha.finishHex(), xxh3.digest(), std::move(records)};
}

} // namespace shardscope
