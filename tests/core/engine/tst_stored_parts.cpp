// SPDX-License-Identifier: Apache-2.0
// What processes with parts of a job tell each other: journals of pieces, and plans as plain data.
#include "tests/core/engine/execute_fixture.h"

#include "core/engine/parts/part_ranges.h"
#include "core/engine/parts/piece_journal.h"
#include "core/engine/parts/stored_plan.h"

using namespace shardscope;
using namespace shardscope::test;

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

TEST_CASE("a stored plan has the bytes of the plan, and a damaged one is refused or harmless")
{
    const SyntheticPlan::Shape shape{3, 4, 7, 300, 11};
    Bench bench(shape);
    const auto ranges = rangesOf(bench.plan, {1, 2}, {.cutBytes = 96, .pieceBytes = 400});
    REQUIRE(ranges);
    const auto text = StoredPlan::store(io::realFileSystem(), bench.plan, *ranges, {});
    REQUIRE(text);
    const auto stored = StoredPlan::parse(text->text);
    REQUIRE(stored);
    CHECK((*stored)->checkSources(io::realFileSystem()));
    for (const FilePiece& range : *ranges) {
        const uint32_t own = (*stored)->fileFor(range.file);
        CHECK((*stored)->toPlan(FilePiece{own, range.range}) == range);
        CHECK((*stored)->plan().files[own].path == bench.plan.files[range.file].path);
    }
    for (size_t i = 0; i < text->text.size(); ++i) {
        CHECK_FALSE(StoredPlan::parse(std::string_view(text->text).substr(0, i)));
        std::string other = text->text;
        other[i] = static_cast<char>(other[i] ^ 0x81);
        const auto damaged = StoredPlan::parse(other);
        for (size_t file = 0; damaged && file < (*damaged)->plan().files.size(); ++file) {
            const auto recipe = (*damaged)->plan().recipe(file);
            for (const OutputRecord& record : recipe->records) {
                Segment segment;
                const auto cursor = record.cursor ? record.cursor() : nullptr;
                for (int n = 0; cursor && n < 1000 && cursor->next(segment); ++n)
                    CHECK((segment.tensor == Segment::kNoTensor
                        || segment.tensor < (*damaged)->plan().tensors.size()));
            }
        }
    }
    // Another version of a source, with the same size and time.
    const PlanSource& source = bench.plan.sources[0];
    std::string bytes = slurp(source.path);
    const auto time = std::filesystem::last_write_time(source.path);
    bytes[bytes.size() - 30] = static_cast<char>(bytes[bytes.size() - 30] ^ 1);
    spill(source.path, bytes);
    std::filesystem::last_write_time(source.path, time);
    const auto changed = (*stored)->checkSources(io::realFileSystem());
    REQUIRE_FALSE(changed);
    CHECK(changed.error().code == ErrorCode::SourceChanged);
}
