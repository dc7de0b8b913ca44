// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_journal.h"

#include "core/engine/stream/journal_line.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace shardscope {

namespace {

/// Numbers as words.
class Words
{
public:
    explicit Words(std::string text)
        : m_text(std::move(text))
    {
    }

    Words& add(uint64_t value)
    {
        m_text += ' ';
        m_text += std::to_string(value);
        return *this;
    }
    Words& add(const ByteRange& range) { return add(range.begin).add(range.end); }
    Words& add(uint64_t low, uint64_t high) { return add(low).add(high); }
    [[nodiscard]] const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

/// Reads them again. After a word that is no number, or too large, all that follows is 0 and isGood() false.
class Numbers
{
public:
    explicit Numbers(std::string_view text)
        : m_rest(text)
    {
    }

    uint64_t next()
    {
        const auto value = m_isGood ? number(takeWord(m_rest)) : std::nullopt;
        m_isGood = value.has_value();
        return value.value_or(0);
    }
    uint32_t next32()
    {
        const uint64_t value = next();
        m_isGood = m_isGood && value <= UINT32_MAX;
        return m_isGood ? static_cast<uint32_t>(value) : 0;
    }
    ByteRange range()
    {
        const uint64_t begin = next();
        return {begin, next()};
    }
    /// Reads a list with its length; every entry takes at least one word.
    template <class Entry, class Read>
    void list(std::vector<Entry>& out, Read read)
    {
        const uint64_t count = next();
        if (count > m_rest.size())
            m_isGood = false;
        for (uint64_t i = 0; m_isGood && i < count; ++i)
            out.push_back(read());
    }
    [[nodiscard]] bool isGood() const { return m_isGood; }

private:
    std::string_view m_rest;
    bool m_isGood = true;
};

FilePiece readPiece(Numbers& numbers)
{
    const uint32_t file = numbers.next32();
    return {file, numbers.range()};
}

PieceRecord readRecord(Numbers& numbers)
{
    PieceRecord out;
    out.piece = readPiece(numbers);
    uint64_t at = out.piece.range.begin;
    numbers.list(out.digests, [&] {
        const ByteRange range{at, numbers.next()};
        at = range.end;
        const uint64_t low = numbers.next();
        return BytesDigest{range, {low, numbers.next()}};
    });
    numbers.list(out.late, [&] { return numbers.range(); });
    numbers.list(out.parts, [&] {
        RecordPart part;
        part.record = numbers.next32();
        part.range = numbers.range();
        part.crc32 = numbers.next32();
        part.offset = numbers.next();
        return part;
    });
    numbers.list(out.elements, [&] {
        ElementsSum sum;
        sum.tensor = numbers.next32();
        sum.first = numbers.next();
        sum.count = numbers.next();
        sum.offset = numbers.next();
        sum.digest.low = numbers.next();
        sum.digest.high = numbers.next();
        sum.digest.version = kDigestVersion;
        return sum;
    });
    numbers.list(out.sources, [&] {
        SourcePart part;
        part.source = numbers.next32();
        part.record = numbers.next32();
        part.range = numbers.range();
        part.crc32 = numbers.next32();
        return part;
    });
    numbers.list(out.touched, [&] {
        const uint32_t source = numbers.next32();
        return std::pair(source, numbers.next32());
    });
    out.run = numbers.next();
    return out;
}

io::FileIdentity readIdentity(Numbers& numbers)
{
    io::FileIdentity out;
    out.inode = numbers.next();
    out.bytes = numbers.next();
    out.modifiedNs = static_cast<int64_t>(numbers.next());
    out.changedNs = static_cast<int64_t>(numbers.next());
    return out;
}

} // namespace

std::string journalLine(const PieceRecord& record)
{
    Words words("piece");
    words.add(record.piece.file).add(record.piece.range);
    words.add(record.digests.size());
    for (const BytesDigest& digest : record.digests)
        words.add(digest.range.end).add(digest.digest.low, digest.digest.high);
    words.add(record.late.size());
    for (const ByteRange& range : record.late)
        words.add(range);
    words.add(record.parts.size());
    for (const RecordPart& part : record.parts)
        words.add(part.record).add(part.range).add(part.crc32).add(part.offset);
    words.add(record.elements.size());
    for (const ElementsSum& sum : record.elements)
        words.add(sum.tensor)
            .add(sum.first)
            .add(sum.count)
            .add(sum.offset)
            .add(sum.digest.low, sum.digest.high);
    words.add(record.sources.size());
    for (const SourcePart& part : record.sources)
        words.add(part.source).add(part.record).add(part.range).add(part.crc32);
    words.add(record.touched.size());
    for (const auto& [source, touched] : record.touched)
        words.add(source).add(touched);
    words.add(record.run);
    return guarded(words.text());
}

std::string journalLine(const FilePiece& checked)
{
    Words words("checked");
    words.add(checked.file).add(checked.range);
    return guarded(words.text());
}

std::string journalLine(const FileRun& run)
{
    Words words("left");
    words.add(run.file).add(run.run);
    for (const io::FileIdentity& identity : {run.before, run.after})
        words.add(identity.inode)
            .add(identity.bytes)
            .add(static_cast<uint64_t>(identity.modifiedNs))
            .add(static_cast<uint64_t>(identity.changedNs));
    return guarded(words.text());
}

void parsePieceJournal(std::string_view text, PieceJournal& journal)
{
    std::string_view line;
    while (takeLine(text, line)) {
        if (!takeGuard(line))
            continue;
        const std::string_view kind = takeWord(line);
        Numbers numbers(line);
        if (kind == "piece") {
            PieceRecord record = readRecord(numbers);
            if (numbers.isGood())
                journal.pieces.push_back(std::move(record));
        } else if (kind == "checked") {
            const FilePiece piece = readPiece(numbers);
            if (numbers.isGood())
                journal.checked.push_back(piece);
        } else if (kind == "left") {
            FileRun run{numbers.next32(), numbers.next(), {}, {}};
            run.before = readIdentity(numbers);
            run.after = readIdentity(numbers);
            if (numbers.isGood())
                journal.runs.push_back(run);
        }
    }
}

void makeDisjoint(std::vector<PieceRecord>& pieces)
{
    std::ranges::stable_sort(pieces, {}, [](const PieceRecord& record) {
        return std::tuple(record.piece.file, record.piece.range.begin, record.piece.range.end);
    });
    std::vector<PieceRecord> kept;
    kept.reserve(pieces.size());
    for (PieceRecord& record : pieces) {
        const bool isFirst = kept.empty() || kept.back().piece.file != record.piece.file;
        if (isFirst || record.piece.range.begin >= kept.back().piece.range.end) {
            // The second record of an empty file begins where the first one ends.
            if (isFirst || !(record.piece == kept.back().piece))
                kept.push_back(std::move(record));
        }
    }
    pieces = std::move(kept);
}

std::span<const PieceRecord> recordsOf(std::span<const PieceRecord> pieces, uint32_t file)
{
    const auto found = std::ranges::equal_range(
        pieces, file, {}, [](const PieceRecord& record) { return record.piece.file; });
    return {found.begin(), found.end()};
}

std::vector<FilePiece> rangesOf(std::span<const PieceRecord> pieces)
{
    std::vector<FilePiece> out;
    out.reserve(pieces.size());
    for (const PieceRecord& record : pieces)
        out.push_back(record.piece);
    return out;
}

} // namespace shardscope
