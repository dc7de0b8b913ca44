// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_file.h"

namespace shardscope {

namespace {

/// Of the bytes of one output file, in order.
class OutputDigest
{
public:
    explicit OutputDigest(const OutputFileSettings& settings)
        : m_asked(settings.sha256 ? io::DigestKind::Sha256 : io::DigestKind::None)
        , m_hasSha256(settings.sha256)
    {
    }

    void update(std::span<const uint8_t> bytes)
    {
        m_asked.update(bytes);
        m_chunks.update(bytes);
    }
    void finish(WrittenFile& file)
    {
        file.chunks = m_chunks.finish();
        file.digest = m_hasSha256 ? m_asked.finish() : io::combinedDigest(file.chunks);
    }

private:
    io::ContentDigest m_asked;
    io::ChunkDigests m_chunks;
    bool m_hasSha256;
};

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
    OutputDigest digest(settings);
    uint64_t windowBegin = 0;
    ChunkSink sink(buffers, settings.threaded && bytes > buffers.bytes(),
        [&](uint64_t offset, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(context.halt.poll());
            {
                const StageTimer timer(context.times, Stage::Checksums);
                digest.update(chunk);
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
    WrittenFile written{recipe.path, bytes, {}, {}, std::move(records)};
    digest.finish(written);
    return written;
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
    OutputDigest digest(settings);
    ChunkSink sink(buffers, settings.threaded && bytes > buffers.bytes(),
        [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(context.halt.poll());
            digest.update(chunk);
            context.halt.job().advance(chunk.size());
            return {};
        });
    OutputWalk walk(context, recipe, sink, file.get());
    SHARDSCOPE_TRY(auto records, walk.run(bytes));
    WrittenFile replayed{recipe.path, bytes, {}, {}, std::move(records)};
    digest.finish(replayed);
    return replayed;
}

} // namespace shardscope
