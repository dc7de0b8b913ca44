// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/emit.h"

#include "core/base/nearest_word.h"
#include "core/base/text.h"
#include "core/engine/parts/part_combiner.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/parts/piece_walk.h"
#include "core/engine/parts/record_parts.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

/// Of the whole file: a digest is a chunk.
std::string digestOf(const PieceRecord& record)
{
    std::vector<io::Xxh3Digest> chunks;
    for (const BytesDigest& chunk : record.digests)
        chunks.push_back(chunk.digest);
    return io::combinedDigest(chunks);
}

tl::unexpected<Error> doesNotBelong(const Emitted& emitted, const std::string& why)
{
    return fail(ErrorCode::Refused, "what was emitted of this file does not belong to the plan: " + why,
        emitted.file, "emit the file again from this plan");
}

/// Its only record, which must be that of the whole file.
Result<PieceRecord> recordOf(const WritePlan& plan, const Emitted& emitted)
{
    if (emitted.plan != plan.id)
        return doesNotBelong(emitted, "it is of plan " + emitted.plan + ", not " + plan.id);
    SHARDSCOPE_TRY(const uint32_t file, plannedFileNamed(plan, emitted.file));
    PieceJournal journal;
    parsePieceJournal(emitted.sums, journal);
    if (journal.pieces.size() != 1)
        return doesNotBelong(emitted, "its sums are damaged");
    PieceRecord& record = journal.pieces.front();
    const bool isWhole = record.piece.file == file && record.piece.range.begin == 0
        && record.piece.range.end == plan.files[file].bytes && emitted.bytes == plan.files[file].bytes;
    if (!isWhole || !record.late.empty() || digestOf(record) != emitted.digest)
        return doesNotBelong(emitted, "its sums are those of other bytes");
    return std::move(record);
}

/// VerifyFailed if two of them have the same file with other bytes. Ascending, each file once.
Result<std::vector<PieceRecord>> recordsOf(const WritePlan& plan, std::span<const Emitted> emitted)
{
    std::map<uint32_t, std::pair<const Emitted*, PieceRecord>> known;
    for (const Emitted& each : emitted) {
        SHARDSCOPE_TRY(PieceRecord record, recordOf(plan, each));
        const auto [entry, isNew] = known.try_emplace(record.piece.file, &each, std::move(record));
        if (!isNew && entry->second.first->digest != each.digest)
            return fail(ErrorCode::VerifyFailed, "two processes emitted this file with different bytes",
                each.file, "use nothing of what they emitted; memory or a disk returned wrong bytes");
    }
    std::vector<PieceRecord> out;
    for (auto& [file, entry] : known)
        out.push_back(std::move(entry.second));
    return out;
}

} // namespace

Result<uint32_t> plannedFileNamed(const WritePlan& plan, const std::string& path)
{
    const auto found = std::ranges::find(plan.files, path, &PlannedFile::path);
    if (found != plan.files.end())
        return static_cast<uint32_t>(found - plan.files.begin());
    std::vector<std::string> names;
    for (const PlannedFile& file : plan.files)
        names.push_back(file.path);
    return fail(ErrorCode::NotFound, "the plan has no output file of this name", path,
        nearestHint(path, names, Hint("the plan's answer lists its files")));
}

Result<Emitted> emitFile(io::FileSystem& files, const WritePlan& plan, uint32_t file,
    const std::function<Status(std::span<const uint8_t> bytes)>& consumer, const EmitOptions& options,
    JobContext& job)
{
    const FilePiece piece{file, {0, plan.files[file].bytes}};
    job.beginPhase("writing", piece.range.end);
    Halt halt(job);
    const MemoryPlan memory = divideMemory(options.memoryLimitBytes, options.jobs, 1, false);
    SourcePool sources(
        files, plan.sources, SourcePool::limitFor(1), static_cast<size_t>(memory.coverBytes()));
    SHARDSCOPE_TRY(const OutputFile recipe, plan.recipe(file));
    SHARDSCOPE_TRY(const auto parts, RecordParts::make(recipe, {piece.range}, halt));
    const TensorKeys keys(plan.tensors);
    StageTimes times;
    ChunkBuffers buffers(memory.buffersPerWorker, memory.chunkBytes, *options.compute.backend);
    const PieceWalk walk{plan, sources, keys, *options.compute.backend, times, halt};
    SHARDSCOPE_TRY(const PieceRecord record,
        walk.run(piece, recipe, *parts, buffers, [&](uint64_t, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(consumer(chunk));
            job.advance(chunk.size());
            return {};
        }));
    if (!record.late.empty())
        return fail(ErrorCode::Internal, "a file that is written in order has bytes that are not known");
    SHARDSCOPE_CHECK(sources.checkUnchanged());
    return Emitted{plan.id, plan.files[file].path, piece.range.end, digestOf(record), journalLine(record)};
}

Result<EmittedSum> combineEmitted(io::FileSystem& files, const WritePlan& plan,
    std::span<const Emitted> emitted, const EmitOptions& options, JobContext& job)
{
    SHARDSCOPE_TRY(std::vector<PieceRecord> records, recordsOf(plan, emitted));
    EmittedSum out{plan.id, records.size(), 0, {}, {}};
    auto record = records.begin();
    for (uint32_t file = 0; file < plan.files.size(); ++file) {
        if (record == records.end() || record->piece.file != file) {
            out.missing.push_back(plan.files[file].path);
            continue;
        }
        out.bytes += plan.files[file].bytes;
        ++record;
    }
    const MemoryPlan memory = divideMemory(options.memoryLimitBytes, 1, 1, false);
    StageTimes times;
    const PartResources resources{memory, *options.compute.backend, times, {}};
    PartCombiner combiner(files, plan, resources, job);
    const Status summed = combiner.combineSums(records);
    if (!summed
        && (summed.error().code == ErrorCode::WriteFailed || summed.error().code == ErrorCode::Internal))
        return fail(ErrorCode::Refused, "the sums of what was emitted do not fit together", {},
            "emit all files again from this plan"); // numbers that no process has written
    SHARDSCOPE_CHECK(summed);
    if (!out.missing.empty())
        return out;
    for (uint32_t tensor = 0; tensor < plan.tensors.size(); ++tensor) {
        const PlanTensor& wanted = plan.tensors[tensor];
        const uint64_t found = combiner.digests().claimed().count(tensor);
        if (found != 0 && found != wanted.elements) // some plans list tensors that they do not move
            return fail(ErrorCode::VerifyFailed,
                "the files have " + formatCount(found) + " of " + formatCount(wanted.elements)
                    + " elements of `" + toValidUtf8(wanted.name) + "` " + wanted.state);
    }
    if (plan.fingerprint)
        out.fingerprint = plan.fingerprint(combiner.digests().sums());
    return out;
}

} // namespace shardscope
