// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_journal.h"

#include "core/engine/stream/journal_line.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shardscope {

void wire(auto& io, Wired<ByteRange> auto& range)
{
    io(range.begin, range.end);
}

void wire(auto& io, Wired<io::Xxh3Digest> auto& digest)
{
    io(digest.low, digest.high);
}

void wire(auto& io, Wired<RecordPart> auto& part)
{
    io(part.record, part.range, part.crc32, part.offset);
}

template <class Io>
void wire(Io& io, Wired<ElementsSum> auto& sum)
{
    io(sum.tensor, sum.first, sum.count, sum.offset, sum.digest.low, sum.digest.high);
    if constexpr (Io::kReads)
        sum.digest.version = kDigestVersion;
}

void wire(auto& io, Wired<SourcePart> auto& part)
{
    io(part.source, part.record, part.range, part.crc32);
}

template <class Io>
void wire(Io& io, Wired<PieceRecord> auto& record)
{
    io(record.piece);
    uint64_t at = record.piece.range.begin;
    io.list(record.digests, record.digests.max_size(), [&](auto& digest) {
        io(digest.range.end, digest.digest);
        if constexpr (Io::kReads)
            digest.range.begin = std::exchange(at, digest.range.end);
    });
    io(record.late, record.parts, record.elements, record.sources, record.touched, record.run);
}

void wire(auto& io, Wired<io::FileIdentity> auto& identity)
{
    io(identity.inode, identity.bytes, identity.modifiedNs, identity.changedNs);
}

void wire(auto& io, Wired<FileRun> auto& run)
{
    io(run.file, run.run, run.before, run.after);
}

namespace {

/// Numbers as words.
class Words : public WireFields<Words>
{
public:
    static constexpr bool kReads = false;

    void number(uint64_t value)
    {
        m_text += ' ';
        m_text += std::to_string(value);
    }
    [[nodiscard]] bool isGood() const { return true; }
    [[nodiscard]] const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

/// Reads them again. After a word that is no number, or too large, all that follows is 0 and isGood() false.
class Numbers : public WireFields<Numbers>
{
public:
    static constexpr bool kReads = true;

    explicit Numbers(std::string_view text)
        : m_rest(text)
    {
    }

    uint64_t number()
    {
        const auto value = m_isGood ? shardscope::number(takeWord(m_rest)) : std::nullopt;
        m_isGood = value.has_value();
        return value.value_or(0);
    }
    void require(bool isGood) { m_isGood = m_isGood && isGood; }
    [[nodiscard]] bool isGood() const { return m_isGood; }
    [[nodiscard]] uint64_t rest() const { return m_rest.size(); }

private:
    std::string_view m_rest;
    bool m_isGood = true;
};

std::string lineOf(const std::string& kind, const auto& value)
{
    Words words;
    words(value);
    return guarded(kind + words.text());
}

template <class Value>
void addFrom(std::string_view line, std::vector<Value>& out)
{
    Numbers numbers(line);
    Value value;
    numbers(value);
    if (numbers.isGood())
        out.push_back(std::move(value));
}

} // namespace

std::string journalLine(const PieceRecord& record)
{
    return lineOf("piece", record);
}

std::string journalLine(const FilePiece& checked)
{
    return lineOf("checked", checked);
}

std::string journalLine(const FileRun& run)
{
    return lineOf("left", run);
}

void parsePieceJournal(std::string_view text, PieceJournal& journal)
{
    std::string_view line;
    while (takeLine(text, line)) {
        if (!takeGuard(line))
            continue;
        const std::string_view kind = takeWord(line);
        if (kind == "piece")
            addFrom(line, journal.pieces);
        else if (kind == "checked")
            addFrom(line, journal.checked);
        else if (kind == "left")
            addFrom(line, journal.runs);
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
