// SPDX-License-Identifier: Apache-2.0
// A plan that several processes write in parts has the bytes that one process writes.
#include "tests/core/engine/execute_fixture.h"

#include "core/engine/write/part_run.h"
#include "core/engine/write/work_folder.h"
#include "core/io/forwarding_file_system.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/thread_peers.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Cuts that small files have, too: many within records, chunks of digests and elements.
constexpr PieceSizes kTiny{.cutBytes = 96, .pieceBytes = 400};

ExecuteOptions optionsOf(const Bench& bench, const PieceSizes& pieces = kTiny)
{
    ExecuteOptions out = bench.options();
    out.pieces = pieces;
    return out;
}

Result<PartReport> runPart(const Bench& bench, Part part, const ExecuteOptions& options,
    io::FileSystem& files = io::realFileSystem())
{
    JobContext job;
    return executePart(files, bench.plan, part, options, job);
}

Result<ExecuteReport> finish(
    const Bench& bench, ExecuteOptions options, io::FileSystem& files = io::realFileSystem())
{
    options.finish = true;
    return run(bench, options, files);
}

std::vector<uint32_t> shuffled(uint32_t count, uint64_t seed)
{
    std::vector<uint32_t> out(count);
    std::iota(out.begin(), out.end(), 0u);
    std::mt19937_64 random(seed);
    std::ranges::shuffle(out, random);
    return out;
}

/// The tree that one process writes.
std::map<std::string, std::string> writtenAtOnce(const SyntheticPlan::Shape& shape)
{
    Bench bench(shape);
    REQUIRE(run(bench, bench.options()));
    return treeOf(bench.destination());
}

/// A plan of large plain files that nobody writes.
WritePlan largePlan(uint32_t files, uint64_t bytes)
{
    class Zeros final : public SegmentCursor
    {
    public:
        explicit Zeros(uint64_t count)
            : m_bytes(count)
        {
        }
        bool next(Segment& segment) override
        {
            segment = {};
            segment.bytes = std::exchange(m_bytes, 0);
            return segment.bytes > 0;
        }

    private:
        uint64_t m_bytes;
    };
    WritePlan out{.verb = "reshard", .id = "0123456789abcdef", .targetName = "tag"};
    for (uint32_t i = 0; i < files; ++i)
        out.files.push_back({std::to_string(i), bytes + i * 4096, {}});
    out.compose = [](const WritePlan& plan, size_t i) -> Result<OutputFile> {
        const uint64_t size = plan.files[i].bytes;
        OutputFile file{.path = plan.files[i].path, .torchArchive = false};
        file.records.push_back({"all", size, OutputRecord::Content::Segments, {},
            [size] { return std::make_unique<Zeros>(size); }});
        return file;
    };
    return out;
}

/// Runs with `count` processes; `files` are those of all but process 0.
Result<ExecuteReport> runTogether(const Bench& bench, uint32_t count, const ExecuteOptions& asked,
    io::FileSystem& others = io::realFileSystem())
{
    return leadPeers(
        count, others, bench.plan, asked, [&](const ExecuteOptions& options) { return run(bench, options); });
}

} // namespace

TEST_CASE("parts in any order, then finished, give the bytes of one process")
{
    const SyntheticPlan::Shape shape{3, 4, 7, 300, 5};
    const auto expected = writtenAtOnce(shape);
    for (const PieceSizes& sizes : {kTiny, PieceSizes{16, 16}, PieceSizes{4096, 4096}, PieceSizes{}}) {
        for (const uint32_t count : {1u, 2u, 3u, 7u, 16u}) {
            CAPTURE(sizes.cutBytes);
            CAPTURE(count);
            Bench bench(shape);
            const ExecuteOptions options = optionsOf(bench, sizes);
            uint64_t bytes = 0;
            for (const uint32_t index : shuffled(count, count)) {
                const auto report = runPart(bench, {index, count}, options);
                REQUIRE_MESSAGE(report, describe(report.error()));
                CHECK(report->verified);
                CHECK(report->bytesWritten == report->bytes);
                bytes += report->bytes;
            }
            CHECK(bytes == bench.plan.writesBytes);
            checkNothingCommitted(bench);
            const auto report = finish(bench, options);
            REQUIRE_MESSAGE(report, describe(report.error()));
            CHECK(report->bytesWritten == 0);
            CHECK(report->bytesReused == bench.plan.writesBytes);
            CHECK(report->verified);
            CHECK(report->fingerprint == expectedFingerprint(bench.plan));
            checkComplete(bench);
            CHECK(treeOf(bench.destination()) == expected);
        }
    }
}

TEST_CASE("a part that is missing is named, and nothing is published")
{
    Bench bench;
    const ExecuteOptions options = optionsOf(bench);
    const auto none = finish(bench, options);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::Refused);
    CHECK_FALSE(std::filesystem::exists(bench.work()));

    REQUIRE(runPart(bench, {0, 4}, options));
    REQUIRE(runPart(bench, {3, 4}, options));
    const auto two = finish(bench, options);
    REQUIRE_FALSE(two);
    CHECK(two.error().code == ErrorCode::Refused);
    CHECK(two.error().message.find("2 parts are missing: 1, 2 of 4") != std::string::npos);
    checkNothingCommitted(bench);
    REQUIRE(runPart(bench, {1, 4}, options));
    const auto one = finish(bench, options);
    REQUIRE_FALSE(one);
    CHECK(one.error().message.find("part 2 of 4 is missing") != std::string::npos);
    const auto again = runPart(bench, {1, 4}, options);
    REQUIRE(again);
    CHECK(again->bytesWritten == 0);
    CHECK(again->bytesReused == again->bytes);
    REQUIRE(runPart(bench, {2, 4}, options));
    REQUIRE(finish(bench, options));
    checkComplete(bench);
    const auto late = runPart(bench, {2, 4}, options);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == ErrorCode::TargetExists);
}

TEST_CASE("a plain run, or parts of another number, write only what is missing")
{
    const SyntheticPlan::Shape shape{3, 4, 7, 300, 6};
    const auto expected = writtenAtOnce(shape);
    for (const bool plain : {true, false}) {
        Bench bench(shape);
        const ExecuteOptions options = optionsOf(bench);
        REQUIRE(runPart(bench, {1, 4}, options));
        REQUIRE(runPart(bench, {2, 4}, options));
        if (plain) {
            const auto report = run(bench, options);
            REQUIRE_MESSAGE(report, describe(report.error()));
            CHECK(report->bytesWritten > 0);
            CHECK(report->bytesReused > 0);
            CHECK(report->bytesWritten + report->bytesReused == bench.plan.writesBytes);
        } else {
            uint64_t written = 0;
            for (const uint32_t index : {0u, 1u, 2u}) {
                const auto report = runPart(bench, {index, 3}, options);
                REQUIRE(report);
                written += report->bytesWritten;
            }
            CHECK(written < bench.plan.writesBytes);
            REQUIRE(finish(bench, options));
        }
        CHECK(treeOf(bench.destination()) == expected);
    }
}

TEST_CASE("a part that was stopped continues after its finished pieces")
{
    Bench bench;
    const ExecuteOptions options = optionsOf(bench);
    std::stop_source stop;
    uint64_t lines = 0;
    /// Stops after some pieces were recorded.
    class Stopping final : public io::ForwardingFileSystem
    {
    public:
        Stopping(std::stop_source& stop, uint64_t& lines)
            : io::ForwardingFileSystem(io::realFileSystem())
            , m_stop(stop)
            , m_lines(lines)
        {
        }
        Status appendSynced(const io::Path& path, std::string_view text) override
        {
            if (path.filename() == "journal" && ++m_lines == 6)
                m_stop.request_stop();
            return io::ForwardingFileSystem::appendSynced(path, text);
        }

    private:
        std::stop_source& m_stop;
        uint64_t& m_lines;
    } files(stop, lines);
    JobContext job(stop.get_token());
    const auto stopped = executePart(files, bench.plan, {0, 2}, options, job);
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == ErrorCode::Cancelled);
    const auto report = runPart(bench, {0, 2}, options);
    REQUIRE(report);
    CHECK(report->bytesReused > 0);
    CHECK(report->bytesWritten > 0);
    REQUIRE(runPart(bench, {1, 2}, options));
    REQUIRE(finish(bench, options));
    checkComplete(bench);
}

TEST_CASE("nobody works on a part, or on the whole folder, while another process does")
{
    Bench bench;
    const ExecuteOptions options = optionsOf(bench);
    REQUIRE(runPart(bench, {0, 2}, options));
    JobContext job;
    const auto busy = [](const auto& result) { return !result && result.error().code == ErrorCode::Busy; };
    {
        const auto held
            = WorkFolder::openPart(io::realFileSystem(), bench.plan, bench.destination(), {1, 2}, {}, job);
        REQUIRE(held);
        CHECK(busy(runPart(bench, {1, 2}, options)));
        CHECK(busy(run(bench, options)));
        CHECK(busy(finish(bench, options)));
        CHECK(runPart(bench, {0, 2}, options)); // another part
    }
    {
        const auto held = WorkFolder::open(io::realFileSystem(), bench.plan, bench.destination(), {}, job);
        REQUIRE(held);
        CHECK(busy(runPart(bench, {1, 2}, options)));
    }
    REQUIRE(runPart(bench, {1, 2}, options));
    REQUIRE(finish(bench, options));
    checkComplete(bench);
}

TEST_CASE("damage in a source, or in what a part wrote, is found")
{
    const auto flip = [](const std::filesystem::path& path, uint64_t offset) {
        std::string bytes = slurp(path);
        bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
        spill(path, bytes);
    };
    const uint64_t step = 977;
    SUBCASE("in a source")
    {
        for (uint64_t at = 0;; at += step) {
            Bench bench;
            const PlanSource& source = bench.plan.sources[1];
            const ZipRecord& record = *std::ranges::max_element(source.records, {}, &ZipRecord::bytes);
            if (at >= record.bytes)
                break;
            CAPTURE(at);
            flip(source.path, record.payloadOffset + at);
            bench.plan.readIdentitiesAgain();
            const ExecuteOptions options = optionsOf(bench);
            Status status;
            for (uint32_t index = 0; index < 3 && status; ++index) {
                const auto report = runPart(bench, {index, 3}, options);
                status = report ? Status() : Status(forward(report.error()));
            }
            if (status) {
                const auto report = finish(bench, options);
                status = report ? Status() : Status(forward(report.error()));
            }
            REQUIRE_FALSE(status);
            CHECK(status.error().code == ErrorCode::Damaged);
            checkNothingCommitted(bench);
        }
    }
    SUBCASE("in the output of a part that did not read it back")
    {
        int found = 0;
        for (uint64_t at = 0; at < 3000; at += 211) {
            CAPTURE(at);
            Bench bench;
            ExecuteOptions options = optionsOf(bench);
            options.verify = false;
            for (uint32_t index = 0; index < 3; ++index)
                REQUIRE(runPart(bench, {index, 3}, options));
            const io::Path file = bench.work() / "files" / (bench.plan.files[0].path + ".tmp");
            if (at >= std::filesystem::file_size(file))
                break;
            const std::string before = slurp(file);
            flip(file, at);
            options.verify = true;
            const auto report = finish(bench, options);
            REQUIRE_MESSAGE(report, describe(report.error()));
            CHECK(report->bytesWritten > 0);
            checkComplete(bench);
            ++found;
        }
        CHECK(found > 5);
    }
}

TEST_CASE("16 files on 64 processes are balanced within 5 percent")
{
    for (const uint64_t bytes : {uint64_t{52'500'000'000}, uint64_t{2'000'000'000}}) {
        const WritePlan plan = largePlan(16, bytes);
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        std::vector<FilePiece> all;
        for (uint32_t i = 0; i < 64; ++i) {
            const auto ranges = rangesOf(plan, {i, 64}, {});
            REQUIRE(ranges);
            least = std::min(least, bytesOf(*ranges));
            most = std::max(most, bytesOf(*ranges));
            all.insert(all.end(), ranges->begin(), ranges->end());
        }
        const double mean = static_cast<double>(bytesOf(all)) / 64;
        if (bytes > 50'000'000'000) {
            CHECK(static_cast<double>(most) <= mean * 1.05);
            CHECK(static_cast<double>(least) >= mean * 0.95);
        } else { // chunks of 16 MiB are 3 % of a part
            CHECK(static_cast<double>(most) <= mean * 1.07);
        }
        const auto whole = rangesOf(plan, {}, {});
        REQUIRE(whole);
        CHECK(without(*whole, all).empty());
        CHECK(bytesOf(all) == bytesOf(*whole));
    }
}

TEST_CASE("processes that share a job give the bytes of one, and go on from what others wrote")
{
    const SyntheticPlan::Shape shape{3, 4, 7, 300, 8};
    const auto expected = writtenAtOnce(shape);
    for (const PieceSizes& sizes : {kTiny, PieceSizes{16, 16}, PieceSizes{}}) {
        for (const uint32_t count : {2u, 3u, 7u}) {
            CAPTURE(sizes.cutBytes);
            CAPTURE(count);
            Bench bench(shape);
            const auto report = runTogether(bench, count, optionsOf(bench, sizes));
            REQUIRE_MESSAGE(report, describe(report.error()));
            CHECK(report->verified);
            CHECK(report->bytesWritten == bench.plan.writesBytes);
            CHECK(report->fingerprint == expectedFingerprint(bench.plan));
            CHECK(treeOf(bench.destination()) == expected);
        }
    }
    Bench bench(shape);
    REQUIRE(runPart(bench, {1, 3}, optionsOf(bench)));
    const auto report = runTogether(bench, 4, optionsOf(bench));
    REQUIRE_MESSAGE(report, describe(report.error()));
    CHECK(report->bytesReused > 0);
    CHECK(report->bytesWritten > 0);
    CHECK(treeOf(bench.destination()) == expected);
}

TEST_CASE("a failure of any process ends the shared job with its error; the same job continues")
{
    const SyntheticPlan::Shape shape{2, 3, 5, 200, 4};
    const auto expected = writtenAtOnce(shape);
    for (uint64_t call = 1; call < 200; call += 7) {
        CAPTURE(call);
        Bench bench(shape);
        io::FaultingFileSystem others(io::realFileSystem(), {.callNumber = call, .errnoValue = EIO});
        const auto report = runTogether(bench, 3, optionsOf(bench), others);
        if (others.faultWasHit() && !report) {
            CHECK(report.error().message.find("injected fault") != std::string::npos);
            checkNothingCommitted(bench);
            const auto again = runTogether(bench, 3, optionsOf(bench));
            REQUIRE_MESSAGE(again, describe(again.error()));
        }
        CHECK(treeOf(bench.destination()) == expected);
    }
}
