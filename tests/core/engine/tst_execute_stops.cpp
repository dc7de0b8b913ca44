// SPDX-License-Identifier: Apache-2.0
#include "tests/core/engine/execute_fixture.h"

#include "core/io/forwarding_file_system.h"

#include <cerrno>
#include <chrono>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Runs until a phase begins, then asks to stop.
Result<ExecuteReport> runUntil(const Bench& bench, const ExecuteOptions& options, const std::string& phase)
{
    std::stop_source stop;
    JobContext job(stop.get_token(), [&](const Progress& progress) {
        if (progress.phase == phase)
            stop.request_stop();
    });
    return runPlan(io::realFileSystem(), bench.plan, options, modelHooks(bench.plan), job);
}

void flip(const std::filesystem::path& path, uint64_t offset)
{
    std::string bytes = slurp(path);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    spill(path, bytes);
}

} // namespace

TEST_CASE("a stop leaves only the work folder; the same call continues")
{
    for (const std::string phase : {"writing", "checking the source", "verifying"}) {
        for (const unsigned jobs : {1u, 4u}) {
            CAPTURE(phase);
            Bench bench;
            const auto stopped = runUntil(bench, bench.options(jobs), phase);
            REQUIRE_FALSE(stopped);
            CHECK(stopped.error().code == ErrorCode::Cancelled);
            CHECK(stopped.error().path == bench.work().string());
            CHECK_FALSE(stopped.error().hint.text.empty());
            checkNothingCommitted(bench);
            CHECK(std::filesystem::exists(bench.work()));

            const auto report = run(bench, bench.options(jobs));
            REQUIRE_MESSAGE(report, describe(report.error()));
            checkComplete(bench);
            CHECK(report->bytesReused == (phase == "writing" ? 0 : bench.plan.writesBytes));
            CHECK(report->bytesReused + report->bytesWritten == bench.plan.writesBytes);
            CHECK(report->fingerprint == expectedFingerprint(bench.plan));
        }
    }
}

TEST_CASE("a stop before anything begins leaves no trace")
{
    Bench bench;
    std::stop_source stop;
    stop.request_stop();
    JobContext job(stop.get_token());
    const auto report = runPlan(io::realFileSystem(), bench.plan, bench.options(), {}, job);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::Cancelled);
    CHECK_FALSE(std::filesystem::exists(bench.destination()));
}

TEST_CASE("restart discards what an interrupted run left")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
    ExecuteOptions options = bench.options();
    options.restart = true;
    const auto report = run(bench, options);
    REQUIRE(report);
    CHECK(report->bytesReused == 0);
    checkComplete(bench);
}

TEST_CASE("unfinished work continues if a source's inode and change time differ, and names what differs")
{
    const auto refusal = [](const auto& change) {
        Bench bench;
        REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
        change(bench.plan.sources[0]);
        const auto report = run(bench, bench.options());
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::Refused);
        CHECK(report.error().message.find(bench.plan.sources[0].name) != std::string::npos);
        CHECK(report.error().message.find("version") == std::string::npos);
        checkNothingCommitted(bench);
        return report.error().message;
    };
    const auto lookAgain
        = [](PlanSource& source) { source.identity = io::realFileSystem().stat(source.path)->identity; };
    CHECK(refusal([&](PlanSource& source) {
        std::filesystem::resize_file(source.path, source.identity.bytes + 1);
        lookAgain(source);
    }).find("size")
        != std::string::npos);
    CHECK(refusal([&](PlanSource& source) {
        std::filesystem::last_write_time(
            source.path, std::filesystem::last_write_time(source.path) + std::chrono::seconds(1));
        lookAgain(source);
    }).find("modified")
        != std::string::npos);
    CHECK(refusal([](PlanSource& source) {
        source.records.push_back({.name = "data/0", .bytes = 4, .crc32 = 7});
    }).find("records")
        != std::string::npos);

    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
    PlanSource& source = bench.plan.sources[0];
    const int64_t changed = source.identity.changedNs;
    std::filesystem::create_hard_link(source.path, bench.folder / "another name");
    lookAgain(source);
    CHECK(source.identity.changedNs != changed);
    REQUIRE(run(bench, bench.options()));
    checkComplete(bench);
}

TEST_CASE("finished files that changed on the disk are written again, and their source is not blamed")
{
    for (const uint64_t offset : {0u, 700u, 2000u}) {
        CAPTURE(offset);
        Bench bench;
        REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
        flip(bench.work() / "files/part_0.pt", offset);
        std::filesystem::remove(bench.work() / "files/part_2.pt");
        spill(bench.work() / "files/part_2.pt.tmp", "left over");
        const auto report = run(bench, bench.options());
        REQUIRE_MESSAGE(report, describe(report.error()));
        checkComplete(bench);
        const uint64_t lost
            = bench.plan.expected().at("part_0.pt").size() + bench.plan.expected().at("part_2.pt").size();
        CHECK(report->bytesWritten == lost);
    }
}

TEST_CASE("files that the job did not make are neither removed nor published")
{
    for (const std::string name : {"files/sub/stray.pt", "files/part_9.pt.tmp", "beside/stray", "stray"}) {
        CAPTURE(name);
        Bench bench;
        REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
        spill(bench.work() / name, "of others");
        const auto report = run(bench, bench.options());
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::NoPermission);
        CHECK(report.error().path == bench.work() / name);
        CHECK(slurp(bench.work() / name) == "of others");
        checkNothingCommitted(bench);
        std::filesystem::remove(bench.work() / name);
        REQUIRE(run(bench, bench.options()));
        checkComplete(bench);
    }
}

TEST_CASE("only the intact lines of a journal with torn and wrong lines are trusted")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
    const io::Path journal = bench.work() / "parts/rest/journal";
    std::string text = slurp(journal);
    text[12] = static_cast<char>(text[12] ^ 1); // the first line is wrong
    text = "no line\n" + text.substr(0, text.size() - 5); // the last one is torn
    spill(journal, text);
    const auto report = run(bench, bench.options());
    REQUIRE_MESSAGE(report, describe(report.error()));
    checkComplete(bench);
    CHECK(report->bytesReused > 0);
    CHECK(report->bytesWritten > 0);
}

TEST_CASE("work of another program version is refused, not continued")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
    spill(bench.work() / "plan", "{}");
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::Refused);
    ExecuteOptions options = bench.options();
    options.restart = true;
    REQUIRE(run(bench, options));
    checkComplete(bench);
}

TEST_CASE("two processes do not work on one target")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "verifying"));
    {
        const auto lock = io::realFileSystem().lock(bench.work() / "lock");
        REQUIRE(lock);
        const auto report = run(bench, bench.options());
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::Busy);
    }
    REQUIRE(run(bench, bench.options()));
    checkComplete(bench);
}

TEST_CASE("a flipped byte anywhere in a used record stops the job: file and record are named, "
          "nothing is kept")
{
    const Bench sample;
    for (uint32_t record = 0; record < 4; ++record) {
        const ZipRecord& place = sample.plan.sources[1].records[record];
        for (const uint64_t offset : {place.payloadOffset, place.payloadOffset + place.bytes / 2,
                 place.payloadOffset + place.bytes - 1}) { // the last one is padding
            CAPTURE(record);
            CAPTURE(offset);
            Bench bench;
            flip(bench.plan.sources[1].path, offset);
            bench.plan.readIdentitiesAgain();
            const auto report = run(bench, bench.options());
            if (record == 0) { // no output copies from it
                CHECK(report);
                continue;
            }
            REQUIRE_FALSE(report);
            CHECK(report.error().code == ErrorCode::Damaged);
            CHECK(report.error().path == bench.plan.sources[1].path.string());
            CHECK(report.error().message.find("'" + place.name + "'") != std::string::npos);
            checkNothingCommitted(bench);
            CHECK(treeOf(bench.destination()).empty());
            // Without a CRC there is nothing to compare with. (Nor with verification: the copies of record 3
            // differ now.)
            bench.plan.sources[1].records[record].crcPresent = false;
            ExecuteOptions options = bench.options();
            options.verify = false;
            CHECK(run(bench, options).has_value());
        }
    }
}

TEST_CASE("a job is not continued from a source that has other checksums now")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "checking the source"));
    bench.plan.sources[0].records[1].crc32 ^= 1;
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::Refused);
    CHECK(report.error().message.find("rank_0.pt now has other records or checksums") != std::string::npos);
    checkNothingCommitted(bench);
}

TEST_CASE("a source that is not the planned one, or changes meanwhile, is refused")
{
    Bench bench;
    const io::Path source = bench.plan.sources[0].path;
    spill(source, slurp(source));
    const auto before = run(bench, bench.options());
    REQUIRE_FALSE(before);
    CHECK(before.error().code == ErrorCode::SourceChanged);
    CHECK_FALSE(std::filesystem::exists(bench.destination()));

    bench.plan.readIdentitiesAgain();
    std::stop_source stop;
    JobContext job(stop.get_token(), [&](const Progress& progress) {
        if (progress.phase == "checking the source")
            spill(source, slurp(source));
    });
    const auto during = runPlan(io::realFileSystem(), bench.plan, bench.options(), {}, job);
    REQUIRE_FALSE(during);
    CHECK(during.error().code == ErrorCode::SourceChanged);
    checkNothingCommitted(bench);
}

namespace {

/// Passes calls on, and changes a byte once the file is synced: a disk that does not keep what it was given.
class ForgetfulFile final : public io::ForwardingWriteFile
{
public:
    ForgetfulFile(std::unique_ptr<io::WriteFile> inner, uint64_t offset)
        : ForwardingWriteFile(std::move(inner))
        , m_offset(offset)
    {
    }

    Status sync() override
    {
        Status synced = ForwardingWriteFile::sync();
        flip(path(), m_offset);
        return synced;
    }

private:
    uint64_t m_offset;
};

class ForgetfulFileSystem final : public io::ForwardingFileSystem
{
public:
    ForgetfulFileSystem(std::string name, uint64_t offset)
        : ForwardingFileSystem(io::realFileSystem())
        , m_name(std::move(name))
        , m_offset(offset)
    {
    }

    Result<std::unique_ptr<io::WriteFile>> openShared(const io::Path& path, uint32_t mode) override
    {
        SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openShared(path, mode));
        if (path.filename() == m_name)
            file = std::make_unique<ForgetfulFile>(std::move(file), m_offset);
        return file;
    }

private:
    std::string m_name;
    uint64_t m_offset;
};

} // namespace

TEST_CASE("verification reads the disk: a byte that changed there is found, in every kind of place")
{
    const Bench sample;
    const std::string& bytes = sample.plan.expected().at("part_0.pt");
    for (const uint64_t offset :
        {uint64_t{3}, uint64_t{64}, bytes.size() / 2, bytes.size() - 90, bytes.size() - 1}) {
        for (const unsigned jobs : {1u, 2u}) {
            CAPTURE(offset);
            CAPTURE(jobs);
            Bench bench;
            ForgetfulFileSystem files("part_0.pt.tmp", offset);
            ExecuteOptions options = bench.options();
            options.jobs = jobs;
            JobContext job;
            const auto report = runPlan(files, bench.plan, options, {}, job);
            REQUIRE_FALSE(report);
            CHECK(report.error().code == ErrorCode::VerifyFailed);
            CHECK(report.error().message.find("read back") != std::string::npos);
            checkNothingCommitted(bench);
            REQUIRE(run(bench, bench.options()));
            checkComplete(bench);
        }
    }
}

TEST_CASE("what an interrupted run finished is read back, too")
{
    Bench bench;
    REQUIRE_FALSE(runUntil(bench, bench.options(), "checking the source"));
    // The directory of a finished file is changed while the run continues: after it was checked against the
    // journal, before it is verified.
    ExecuteHooks hooks;
    hooks.openOutput = [&](io::FileSystem&, const io::Path& folder, const WritePlan&,
                           JobContext&) -> Result<std::unique_ptr<OutputModel>> {
        flip(folder / "part_0.pt", 64);
        return std::unique_ptr<OutputModel>();
    };
    JobContext job;
    const auto report = runPlan(io::realFileSystem(), bench.plan, bench.options(), hooks, job);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::VerifyFailed);
    checkNothingCommitted(bench);
}

TEST_CASE("verification reads tensors where the reader finds them")
{
    Bench bench;
    // A plan for another seed has the same shapes only by chance: its runs are wrong for this output.
    const SyntheticPlan other(bench.folder / "other", {3, 4, 7, 900, 2});
    JobContext job;
    const auto report = runPlan(io::realFileSystem(), bench.plan, bench.options(), modelHooks(other), job);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::VerifyFailed);
    checkNothingCommitted(bench);

    ExecuteOptions options = bench.options();
    options.verify = false;
    const auto unverified = runPlan(io::realFileSystem(), bench.plan, options, modelHooks(other), job);
    REQUIRE(unverified);
    CHECK_FALSE(unverified->verified);
    CHECK(unverified->fingerprint == expectedFingerprint(bench.plan)); // it comes from the writing pass
}

TEST_CASE("a job that needs more space than the disk has is refused before anything is written")
{
    Bench bench;
    bench.plan.files[0].bytes = uint64_t{1} << 60;
    bench.plan.writesBytes += bench.plan.files[0].bytes;
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::NoSpace);
    CHECK(report.error().message.find("are needed") != std::string::npos);
    CHECK(report.error().message.find("are free") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(bench.destination()));
}

TEST_CASE("a recipe that does not give the planned size is an internal error and commits nothing")
{
    Bench bench;
    bench.plan.files[1].bytes += 64;
    const auto report = run(bench, bench.options());
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::Internal);
    checkNothingCommitted(bench);
}

TEST_CASE("names that leave the target or clash are refused")
{
    for (const std::string name :
        {"", "/etc/x", "../", "..", "../..", "../../x", "../x/y", "../latest", "../global_step7", "a/../x",
            "a//b", "a/", "./a", "shardscope.json", "part_0.pt", "part_0.pt.tmp"}) {
        CAPTURE(name);
        Bench bench;
        bench.plan.files[1].path = name;
        const auto report = run(bench, bench.options());
        REQUIRE_FALSE(report);
        // A file next to the tag with the tag's own name: the user chose that name.
        CHECK(report.error().code == (name == "../global_step7" ? ErrorCode::Usage : ErrorCode::Internal));
        CHECK_FALSE(std::filesystem::exists(bench.destination()));
    }
}
