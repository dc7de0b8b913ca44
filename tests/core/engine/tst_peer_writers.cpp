// SPDX-License-Identifier: Apache-2.0
// Processes that share a job read back what others wrote, while they write.
#include "tests/core/engine/execute_fixture.h"

#include "core/engine/parts/journal_follower.h"
#include "core/io/forwarding_file_system.h"
#include "tests/support/thread_peers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// The journals of all processes, as they grow. In a test two of them wait for each other.
class Journals
{
public:
    explicit Journals(uint32_t count)
        : m_journals(count)
    {
    }

    void add(uint32_t rank, const std::string& line)
    {
        const std::lock_guard lock(m_mutex);
        parsePieceJournal(line, m_journals[rank]);
        m_changed.notify_all();
    }
    /// False after 20 s.
    bool waitUntil(uint32_t rank, const std::function<bool(const PieceJournal&)>& isSo)
    {
        std::unique_lock lock(m_mutex);
        return m_changed.wait_for(lock, std::chrono::seconds(20), [&] { return isSo(m_journals[rank]); });
    }
    [[nodiscard]] const std::vector<PieceJournal>& all() const { return m_journals; }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<PieceJournal> m_journals;
};

/// Shows each line of a part's journal to the test.
class Watched final : public io::ForwardingFileSystem
{
public:
    using Line = std::function<void(uint32_t rank, const std::string& line)>;
    Watched(Line before, Line after)
        : io::ForwardingFileSystem(io::realFileSystem())
        , m_before(std::move(before))
        , m_after(std::move(after))
    {
    }
    Status appendSynced(const io::Path& path, std::string_view text) override
    {
        const std::string part = path.parent_path().filename();
        const auto rank = static_cast<uint32_t>(part.starts_with("rank-") ? part[5] - '0' : 0);
        if (part.starts_with("rank-"))
            m_before(rank, std::string(text));
        SHARDSCOPE_CHECK(io::ForwardingFileSystem::appendSynced(path, text));
        if (part.starts_with("rank-"))
            m_after(rank, std::string(text));
        return {};
    }

private:
    Line m_before;
    Line m_after;
};

ExecuteOptions optionsOf(const Bench& bench)
{
    ExecuteOptions out = bench.options();
    out.pieces = {.cutBytes = 96, .pieceBytes = 400};
    return out;
}

Result<ExecuteReport> runTogether(const Bench& bench, uint32_t count, io::FileSystem& files)
{
    return leadPeers(count, files, bench.plan, optionsOf(bench),
        [&](const ExecuteOptions& options) { return run(bench, options, files); });
}

} // namespace

TEST_CASE("each piece is read back once, by another process, and while writing goes on")
{
    for (const uint32_t count : {2u, 3u}) {
        CAPTURE(count);
        Bench bench({3, 4, 7, 300, 6});
        Journals journals(count);
        std::atomic<bool> inTime = true;
        Watched files(
            [&](uint32_t rank, const std::string&) {
                // Process 1 waits for a piece of process 0, which waits until that one was read back.
                const auto& own = journals.all()[rank].pieces;
                if (rank == 1 && own.empty())
                    inTime
                        = inTime && journals.waitUntil(0, [](const auto& of) { return !of.pieces.empty(); });
                if (rank == 0 && own.size() == 1)
                    inTime
                        = inTime && journals.waitUntil(1, [](const auto& of) { return !of.checked.empty(); });
            },
            [&](uint32_t rank, const std::string& line) { journals.add(rank, line); });
        const auto report = runTogether(bench, count, files);
        REQUIRE_MESSAGE(report, describe(report.error()));
        CHECK(report->verified);
        CHECK(inTime);
        for (uint32_t rank = 0; rank < count; ++rank) {
            auto written = rangesOf(journals.all()[rank].pieces);
            auto checked = journals.all()[(rank + 1) % count].checked;
            const auto order
                = [](const FilePiece& piece) { return std::pair(piece.file, piece.range.begin); };
            std::ranges::sort(written, {}, order);
            std::ranges::sort(checked, {}, order);
            CHECK(written.size() > 3);
            CHECK(written == checked);
        }
        checkComplete(bench);
    }
}

TEST_CASE("a piece that the disk did not keep is found by another process, and nothing is published")
{
    Bench bench({3, 4, 7, 300, 6});
    std::atomic<int> lines = 0;
    Watched files(
        [&](uint32_t rank, const std::string& line) {
            PieceJournal journal;
            parsePieceJournal(line, journal);
            if (rank != 0 || journal.pieces.empty() || ++lines != 2)
                return;
            const FilePiece& piece = journal.pieces[0].piece;
            io::Path path = WorkFolder::placeIn(bench.work(), bench.plan.files[piece.file].path);
            path += ".tmp";
            std::string bytes = slurp(path);
            bytes[piece.range.begin] = static_cast<char>(bytes[piece.range.begin] ^ 1);
            spill(path, bytes);
        },
        [](uint32_t, const std::string&) {});
    const auto report = runTogether(bench, 2, files);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::VerifyFailed);
    CHECK(report.error().message.find("read back") != std::string::npos);
    checkNothingCommitted(bench);
}

TEST_CASE("a process that sees another version of a source than the first one ends the job")
{
    Bench bench({3, 4, 7, 300, 6});
    WritePlan other = bench.plan;
    other.sources[0].identity.modifiedNs += 1;
    const auto report = leadPeers(2, io::realFileSystem(), other, optionsOf(bench),
        [&](const ExecuteOptions& options) { return run(bench, options); });
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::Refused);
    CHECK(report.error().message.find("was modified") != std::string::npos);
    checkNothingCommitted(bench);
}

TEST_CASE("processes that planned different jobs are refused before they begin")
{
    Bench bench({3, 4, 7, 300, 6});
    WritePlan other = bench.plan;
    other.files[0].bytes += 1;
    const auto agreed = [&](const WritePlan& second) {
        ThreadPeers all(2);
        std::array<Status, 2> out;
        const auto check = [&](uint32_t rank, const WritePlan& plan) {
            ThreadPeers::One own(all, rank);
            SharedWork shared(own);
            out[rank] = checkSamePlan(io::realFileSystem(), plan, shared);
        };
        std::jthread process(check, 1, std::cref(second));
        check(0, bench.plan);
        process.join();
        return out;
    };
    for (const Status& status : agreed(bench.plan))
        CHECK(status);
    for (const Status& status : agreed(other)) {
        REQUIRE_FALSE(status);
        CHECK(status.error().code == ErrorCode::Refused);
        CHECK(status.error().message.find("process 1") != std::string::npos);
    }
}

TEST_CASE("the journal of another process is followed by whole lines, and gives what is expected")
{
    const TemporaryFolder folder;
    const io::Path path = folder / "journal";
    const auto line = [](uint32_t file, uint64_t begin) {
        PieceRecord record;
        record.piece = {file, {begin, begin + 10}};
        record.digests = {{record.piece.range, {begin, file}}};
        return journalLine(record);
    };
    const std::string old = line(7, 0) + line(2, 0); // of an earlier run
    spill(path, old + line(1, 0));
    JournalFollower follower(
        io::realFileSystem(), path, old.size(), {{1, {0, 10}}, {1, {10, 20}}, {2, {0, 10}}, {3, {0, 10}}});
    CHECK(follower.bytes() == 40);
    const auto taken = [&] { return rangesOf(follower.take()); };
    CHECK(taken() == std::vector<FilePiece>{{1, {0, 10}}});
    CHECK(taken().empty());
    const std::string next = line(2, 0) + journalLine(FilePiece{5, {0, 1}}) + line(1, 10);
    std::string text = slurp(path);
    std::vector<FilePiece> all;
    for (const char byte : next) { // as another machine may see it
        text += byte;
        spill(path, text);
        std::ranges::copy(taken(), std::back_inserter(all));
    }
    CHECK(all == std::vector<FilePiece>{{2, {0, 10}}, {1, {10, 20}}});
    std::filesystem::remove(path);
    CHECK(taken().empty());
    spill(path, text + line(1, 0) + line(3, 0)); // the first one again
    CHECK(taken() == std::vector<FilePiece>{{3, {0, 10}}});
    CHECK(taken().empty());
}
