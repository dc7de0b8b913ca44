// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify_files.h"

#include "core/torchfile/zip/zip_directory.h"

#include <algorithm>

namespace shardscope {

namespace {

/// A read error does not prove that the output is wrong: the work is kept for another attempt.
bool readingFailed(ErrorCode code)
{
    return code == ErrorCode::Unreadable || code == ErrorCode::NoPermission || code == ErrorCode::NotFound
        || code == ErrorCode::Cancelled;
}

tl::unexpected<Error> differs(std::string what, const io::Path& path)
{
    return fail(ErrorCode::VerifyFailed, std::move(what), path.string(),
        "the disk or the memory corrupted the output; no output was published");
}

/// The pieces of a file in the order of its bytes, as the plan has them.
class PlannedPieces
{
public:
    /// `records` are those of the written archive; a plain file's are back to back.
    PlannedPieces(const OutputFile& recipe, const std::vector<ZipRecord>& records)
        : m_recipe(recipe)
        , m_records(records)
    {
        next();
    }

    struct Piece {
        uint64_t offset = 0;
        uint64_t end = 0;
        uint32_t tensor = Segment::kNoTensor;
        uint64_t firstElement = 0;
    };

    /// The piece that has the byte, which is not before that of the last call; null if none has.
    const Piece* at(uint64_t offset)
    {
        while (m_live && m_piece.end <= offset)
            next();
        return m_live && m_piece.offset <= offset ? &m_piece : nullptr;
    }

private:
    void next()
    {
        Segment segment;
        while (!m_cursor || !m_cursor->next(segment)) {
            if (!beginRecord()) {
                m_live = false;
                return;
            }
        }
        m_piece = {m_at, m_at + segment.bytes, segment.tensor, segment.firstElement};
        m_at += segment.bytes;
        m_live = true;
    }

    /// The next record with segments; false at the end.
    bool beginRecord()
    {
        for (m_cursor = nullptr; !m_cursor && m_record < m_recipe.records.size(); ++m_record) {
            const OutputRecord& record = m_recipe.records[m_record];
            m_at = m_recipe.torchArchive ? m_records[m_record].payloadOffset : m_plainEnd;
            m_plainEnd += record.bytes;
            if (record.content == OutputRecord::Content::Segments)
                m_cursor = record.cursor();
        }
        return m_cursor != nullptr;
    }

    const OutputFile& m_recipe;
    const std::vector<ZipRecord>& m_records;
    size_t m_record = 0;
    std::unique_ptr<SegmentCursor> m_cursor;
    uint64_t m_at = 0;
    uint64_t m_plainEnd = 0;
    Piece m_piece;
    bool m_live = false;
};

/// Compares the places of elements that the reader finds with those that the plan wrote. As every element's
/// bytes were read back, equal places are equal values.
Status comparePlaces(
    ElementRunCursor& cursor, PlannedPieces& pieces, const io::Path& path, const VerifyContext& context)
{
    const auto& tensors = context.plan.tensors;
    const auto elsewhere = [&](uint32_t tensor) {
        return differs("elements of " + tensors[tensor].name + " (" + tensors[tensor].state
                + ") were read back at other places than planned",
            path);
    };
    ElementRun run;
    uint64_t end = 0;
    while (cursor.next(run)) {
        const uint32_t item = itemSize(tensors[run.tensor].dtype);
        if (run.offset < end)
            return elsewhere(run.tensor);
        end = run.offset + run.bytes;
        context.found.claim(
            run.tensor, run.firstElement, run.firstElement + run.bytes / item, [](uint64_t, uint64_t) {});
        while (run.bytes > 0) {
            const auto* piece = pieces.at(run.offset);
            const uint64_t inPiece = piece != nullptr ? run.offset - piece->offset : 0;
            if (piece == nullptr || piece->tensor != run.tensor || inPiece % item != 0
                || piece->firstElement + inPiece / item != run.firstElement)
                return elsewhere(run.tensor);
            const uint64_t count = std::min(run.bytes, piece->end - run.offset);
            run.offset += count;
            run.bytes -= count;
            run.firstElement += count / item;
        }
    }
    return {};
}

Status compareRecords(const std::vector<ZipRecord>& found, const WrittenFile& written, const io::Path& path)
{
    if (found.size() != written.records.size())
        return differs("the archive was read back with another number of records", path);
    for (size_t i = 0; i < found.size(); ++i) {
        const ZipRecord& record = found[i];
        const WrittenRecord& meant = written.records[i];
        if (record.name != meant.name || record.bytes != meant.bytes || record.deflated)
            return differs("record '" + meant.name + "' was read back with another name or size", path);
        if (record.crc32 != meant.crc32)
            return differs("record '" + meant.name + "' was read back with another checksum", path);
    }
    return {};
}

/// The records of the archive as the reader parses it again.
Result<std::vector<ZipRecord>> recordsOf(
    const io::Path& path, const WrittenFile& written, const VerifyContext& context)
{
    SHARDSCOPE_TRY(const auto file, context.files.openRead(path));
    if (file->size() != written.bytes)
        return differs("the file was read back with another size", path);
    if (written.records.empty()) // a plain file
        return std::vector<ZipRecord>();
    auto directory = ZipDirectory::read(*file, ReadMode::Strict, context.job);
    if (!directory && readingFailed(directory.error().code))
        return forward(std::move(directory).error());
    if (!directory)
        return differs("the archive cannot be read back (" + directory.error().message + ")", path);
    SHARDSCOPE_CHECK(compareRecords(directory->records(), written, path));
    return directory->records();
}

} // namespace

Status verifyStructure(
    size_t index, const io::Path& path, const WrittenFile& written, const VerifyContext& context)
{
    SHARDSCOPE_TRY(const std::vector<ZipRecord> records, recordsOf(path, written, context));
    if (context.model == nullptr)
        return {};
    SHARDSCOPE_TRY(const auto cursor, context.model->runsOf(written.path));
    if (!cursor)
        return {};
    SHARDSCOPE_TRY(const OutputFile recipe, context.plan.recipe(index));
    PlannedPieces pieces(recipe, records);
    return comparePlaces(*cursor, pieces, path, context);
}

Status compareElements(
    const std::vector<PlanTensor>& tensors, const ClaimedElements& written, const ClaimedElements& found)
{
    for (uint32_t i = 0; i < tensors.size(); ++i) {
        if (written.count(i) != found.count(i))
            return fail(ErrorCode::VerifyFailed,
                "elements of " + tensors[i].name + " (" + tensors[i].state
                    + ") were written and are not found",
                {}, "this is a defect of the program; no output was published");
    }
    return {};
}

} // namespace shardscope
