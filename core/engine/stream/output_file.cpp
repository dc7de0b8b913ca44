// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/output_file.h"

#include "core/engine/stream/chunk_writer.h"
#include "core/plan/model/output_bytes.h"

#include <optional>

namespace shardscope {

namespace {

/// Of the bytes of one output file, in order.
class OutputDigest
{
public:
    explicit OutputDigest(const OutputFileSettings& settings)
    {
        if (settings.sha256)
            m_sha256.emplace(io::DigestKind::Sha256);
    }

    void update(std::span<const uint8_t> bytes)
    {
        if (m_sha256)
            m_sha256->update(bytes);
        m_chunks.update(bytes);
    }
    [[nodiscard]] std::span<const io::Xxh3Digest> chunksSoFar() const { return m_chunks.soFar(); }
    void finish(WrittenFile& file)
    {
        file.chunks = m_chunks.finish();
        file.digest = m_sha256 ? m_sha256->finish() : io::combinedDigest(file.chunks);
    }

private:
    io::ChunkDigests m_chunks;
    std::optional<io::ContentDigest> m_sha256;
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

/// The payloads of an archive, from its planned layout.
Result<std::vector<ByteRange>> payloadsOf(const OutputFile& recipe)
{
    std::vector<ByteRange> out;
    if (!recipe.torchArchive)
        return out;
    SHARDSCOPE_TRY(const ZipLayout layout, archiveLayout(recipe));
    out.reserve(recipe.records.size());
    for (uint32_t i = 0; i < recipe.records.size(); ++i) {
        const uint64_t begin = layout.payloadOffset(i);
        out.push_back({begin, begin + recipe.records[i].bytes});
    }
    return out;
}

/// Passes the chunks of one file to ReadBack: as soon as the device has them if they are written by direct
/// I/O, else once the file is synced.
class ReadBackFeed
{
public:
    ReadBackFeed(io::FileSystem& files, ReadBack* readBack, const OutputTask& task, io::Path unfinished)
        : m_files(files)
        , m_readBack(readBack)
        , m_task(task)
        , m_unfinished(std::move(unfinished))
    {
    }

    /// The file is empty, or allocated.
    Status begin(const io::WriteFile& file)
    {
        if (m_readBack == nullptr || !file.isDirect())
            return {};
        SHARDSCOPE_TRY(auto opened, m_files.openRead(m_unfinished));
        // Without allocation it grows as it is written.
        return opened->size() == m_task.bytes ? beginWith(std::move(opened)) : Status();
    }
    /// These chunks are written: the complete ones so far.
    void written(const io::WriteFile& file, std::span<const io::Xxh3Digest> chunks)
    {
        if (m_file && file.isDirect())
            pass(chunks);
    }
    Status synced(const WrittenFile& written)
    {
        if (m_readBack == nullptr)
            return {};
        if (!m_file) {
            SHARDSCOPE_TRY(auto opened, m_files.openRead(m_unfinished));
            SHARDSCOPE_CHECK(beginWith(std::move(opened)));
        }
        pass(written.chunks);
        std::vector<uint32_t> crcs;
        crcs.reserve(written.records.size());
        for (const WrittenRecord& record : written.records)
            crcs.push_back(record.crc32);
        m_readBack->complete(m_file, std::move(crcs));
        return {};
    }

private:
    Status beginWith(std::unique_ptr<io::ReadFile> opened)
    {
        SHARDSCOPE_TRY(auto payloads, payloadsOf(m_task.recipe));
        m_file = m_readBack->begin(std::move(opened), m_task.target, std::move(payloads));
        return {};
    }
    void pass(std::span<const io::Xxh3Digest> chunks)
    {
        for (; m_passed < chunks.size(); ++m_passed)
            m_readBack->add(m_file, chunks[m_passed]);
    }

    io::FileSystem& m_files;
    ReadBack* m_readBack;
    const OutputTask& m_task;
    io::Path m_unfinished;
    std::shared_ptr<ReadBack::File> m_file;
    size_t m_passed = 0;
};

Result<WrittenFile> fill(io::WriteFile& file, const WalkContext& context, const OutputTask& task,
    ChunkBuffers& buffers, const OutputFileSettings& settings, ReadBackFeed& feed)
{
    const auto& [recipe, bytes, target] = task;
    SHARDSCOPE_TRY(const bool shared, sharesSource(file, context, recipe));
    if (!shared)
        SHARDSCOPE_CHECK(file.allocate(bytes));
    if (!shared && bytes >= kDirectFrom)
        (void)file.writeDirectly();
    SHARDSCOPE_CHECK(feed.begin(file));
    OutputDigest digest(settings);
    ChunkWriter writer(file, settings.windowBytes);
    ChunkSink sink(buffers, settings.threaded && bytes > buffers.bytes(),
        [&](uint64_t offset, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(context.halt.poll());
            {
                const StageTimer timer(context.times, Stage::Checksums);
                digest.update(chunk);
            }
            const StageTimer timer(context.times, Stage::Writing);
            if (!shared) {
                SHARDSCOPE_CHECK(writer.write(offset, chunk));
                feed.written(file, digest.chunksSoFar());
            }
            context.halt.job().advance(chunk.size());
            return {};
        });
    OutputWalk walk(context, recipe, sink);
    SHARDSCOPE_TRY(auto records, walk.run(bytes));
    WrittenFile written{recipe.path, bytes, {}, {}, std::move(records)};
    digest.finish(written);
    {
        const StageTimer timer(context.times, Stage::Writing);
        SHARDSCOPE_CHECK(file.sync());
    }
    SHARDSCOPE_CHECK(feed.synced(written));
    SHARDSCOPE_CHECK(file.close());
    return written;
}

} // namespace

Result<WrittenFile> writeOutputFile(io::FileSystem& files, const WalkContext& context, const OutputTask& task,
    ChunkBuffers& buffers, const OutputFileSettings& settings)
{
    io::Path unfinished = task.target;
    unfinished += ".tmp";
    SHARDSCOPE_TRY(auto file, files.create(unfinished, task.recipe.mode));
    ReadBackFeed feed(files, settings.readBack, task, unfinished);
    Result<WrittenFile> written = fill(*file, context, task, buffers, settings, feed);
    file.reset();
    if (const Status may = settings.mayGetName ? settings.mayGetName() : Status(); !may)
        return written ? Result<WrittenFile>(forward(may.error())) : std::move(written);
    if (written) {
        if (auto renamed = files.rename(unfinished, task.target); !renamed)
            written = forward(std::move(renamed).error());
        else if (const auto info = files.stat(task.target); !info)
            return forward(info.error());
        else
            written->left = info->identity;
    }
    if (!written)
        (void)files.removeFile(unfinished); // the next run removes it otherwise
    return written;
}

Status readBackOutputFile(
    io::FileSystem& files, const OutputTask& task, const WrittenFile& written, ReadBack& readBack)
{
    return ReadBackFeed(files, &readBack, task, task.target).synced(written);
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
    replayed.left = file->identity();
    digest.finish(replayed);
    return replayed;
}

} // namespace shardscope
