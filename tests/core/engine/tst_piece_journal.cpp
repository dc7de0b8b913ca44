// SPDX-License-Identifier: Apache-2.0
// What processes with parts of a job record: journals of pieces.
#include "core/engine/parts/piece_journal.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("only the intact lines of a part's journal count")
{
    PieceRecord record;
    record.piece = {3, {16, 48}};
    record.digests = {{{16, 40}, {1, UINT64_MAX}}, {{40, 48}, {2, 3}}};
    record.late = {{41, 42}};
    record.parts = {{5, {0, 9}, 0xFFFFFFFF, 20}};
    record.elements = {{7, 100, 2, 24, {5, 6, kDigestVersion}}};
    record.sources = {{1, 2, {3, 4}, 5}};
    record.touched = {{8, 9}};
    const std::string line = journalLine(record);
    const std::string text = line + journalLine(FilePiece{3, {16, 48}});
    PieceJournal journal;
    parsePieceJournal(text, journal);
    REQUIRE(journal.pieces.size() == 1);
    CHECK(journalLine(journal.pieces[0]) == line);
    CHECK(journal.checked == std::vector<FilePiece>{{3, {16, 48}}});
    for (size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] = static_cast<char>(other[i] ^ 4);
        PieceJournal damaged;
        parsePieceJournal(other, damaged);
        CHECK(damaged.pieces.size() + damaged.checked.size() < 2);
        PieceJournal torn;
        parsePieceJournal(text.substr(0, i), torn);
        CHECK(torn.pieces.size() == (i >= line.size() ? 1 : 0));
    }
}
