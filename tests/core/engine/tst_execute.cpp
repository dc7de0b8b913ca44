// SPDX-License-Identifier: Apache-2.0
#include "tests/core/engine/execute_fixture.h"

#include "core/io/forwarding_file_system.h"

#include <nlohmann/json.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE("the output equals the plan byte by byte, for any number of jobs and any memory")
{
    std::string manifest;
    for (const unsigned jobs : {1u, 2u, 5u}) {
        for (const uint64_t memory : {uint64_t{64} << 10, uint64_t{200} << 10, uint64_t{256} << 20}) {
            CAPTURE(jobs);
            CAPTURE(memory);
            Bench bench({}, TemporaryFolder::Where::Disk);
            ExecuteOptions options = bench.options(jobs);
            options.memoryLimitBytes = memory;
            const auto report = run(bench, options);
            REQUIRE_MESSAGE(report, describe(report.error()));
            checkComplete(bench);
            CHECK(report->output == bench.target());
            CHECK(report->bytesWritten == bench.plan.writesBytes);
            CHECK(report->bytesReused == 0);
            CHECK(report->verified);
            CHECK(report->peakBufferBytes <= memory);
            CHECK(report->fingerprint == expectedFingerprint(bench.plan));
            const std::string text = slurp(bench.target() / "shardscope.json");
            CHECK((manifest.empty() || manifest == text));
            manifest = text;
        }
    }
}

TEST_CASE("files larger than all buffers, many small segments, more targets than elements")
{
    for (const SyntheticPlan::Shape& shape :
        {SyntheticPlan::Shape{2, 1, 3, 300'000, 3}, SyntheticPlan::Shape{1, 5, 400, 3, 4},
            SyntheticPlan::Shape{4, 40, 2, 2, 5}, SyntheticPlan::Shape{5, 3, 60, 4000, 6}}) {
        for (const unsigned jobs : {1u, 3u}) {
            Bench bench(shape);
            ExecuteOptions options = bench.options(jobs);
            options.memoryLimitBytes = 100'000;
            const auto report = run(bench, options);
            REQUIRE_MESSAGE(report, describe(report.error()));
            checkComplete(bench);
            CHECK(report->fingerprint == expectedFingerprint(bench.plan));
        }
    }
}

TEST_CASE("the manifest lists the files and records no place or time")
{
    Bench bench;
    REQUIRE(run(bench, bench.options()));
    const std::string text = slurp(bench.target() / "shardscope.json");
    CHECK(text.find(bench.folder.path().string()) == std::string::npos);
    const auto json = nlohmann::json::parse(text);
    CHECK(json["fingerprint"] == expectedFingerprint(bench.plan));
    CHECK(json["plan"]["world_size"] == 4);
    REQUIRE(json["files"].size() == bench.plan.expected().size());
    for (const auto& file : json["files"]) {
        const std::string& bytes = bench.plan.expected().at(file["path"].get<std::string>());
        CHECK(file["bytes"] == bytes.size());
        const bool archive = file["path"].get<std::string>().ends_with(".pt");
        CHECK(file["records"].size() == (archive ? 6 : 0)); // data/3 has no bytes
        CHECK(file["empty_records"] == (archive ? 1 : 0));
    }
}

TEST_CASE("without a pointer, and with files in the destination that do not conflict")
{
    Bench bench;
    bench.plan.pointerName.clear();
    spill(bench.destination() / "other_tag/file", "other");
    spill(bench.destination() / "latest", "other_tag");
    spill(bench.destination() / "zero_to_fp32.py", "mine");
    REQUIRE(run(bench, bench.options()));
    CHECK(slurp(bench.destination() / "latest") == "other_tag");
    CHECK(slurp(bench.destination() / "zero_to_fp32.py") == "mine"); // only where absent
    CHECK(slurp(bench.destination() / "other_tag/file") == "other");
    CHECK(std::filesystem::exists(bench.target()));
}

TEST_CASE("the pointer moves to the new tag, scripts get their mode, other tags stay")
{
    Bench bench;
    spill(bench.destination() / "other_tag/file", "other");
    spill(bench.destination() / "latest", "other_tag");
    REQUIRE(run(bench, bench.options()));
    checkComplete(bench);
    CHECK(slurp(bench.destination() / "other_tag/file") == "other");
    struct stat status {
    };
    REQUIRE(::stat((bench.destination() / "zero_to_fp32.py").c_str(), &status) == 0);
    CHECK((status.st_mode & 0100) != 0);
}

TEST_CASE("an existing target is kept unless force is given")
{
    Bench bench;
    spill(bench.target() / "mine", "precious");
    const auto refused = run(bench, bench.options());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::TargetExists);
    CHECK(treeOf(bench.destination()).size() == 2);
    CHECK(slurp(bench.target() / "mine") == "precious");

    ExecuteOptions options = bench.options();
    options.force = true;
    const auto foreign = run(bench, options);
    REQUIRE_FALSE(foreign);
    CHECK(foreign.error().code == ErrorCode::TargetExists);
    CHECK(foreign.error().message.find("mine") != std::string::npos);
    CHECK(slurp(bench.target() / "mine") == "precious");

    std::filesystem::rename(bench.target() / "mine", bench.target() / "mp_rank_00_model_states.pt");
    REQUIRE(run(bench, options));
    checkComplete(bench);
    REQUIRE(run(bench, options)); // over itself
    checkComplete(bench);
}

TEST_CASE("targets inside, equal to and around the source are refused, through links as well")
{
    Bench bench;
    const auto before = treeOf(bench.plan.sourceRun());
    std::filesystem::create_directory_symlink(bench.plan.sourceRun(), bench.folder / "link");
    for (const io::Path& destination :
        {bench.folder / "source", bench.folder / "source/", bench.folder / "source/deep/er",
            bench.folder.path(), bench.folder / "link", bench.folder / "link/deep",
            bench.folder / "source/../source/x", bench.plan.sourceRun() / bench.plan.targetName}) {
        CAPTURE(destination.string());
        ExecuteOptions options = bench.options();
        options.destination = destination;
        const auto report = run(bench, options);
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::Usage);
        CHECK(treeOf(bench.plan.sourceRun()) == before);
    }
    ExecuteOptions options = bench.options();
    spill(bench.folder / "file", "x");
    options.destination = bench.folder / "file";
    CHECK(run(bench, options).error().code == ErrorCode::Usage);
    options.destination = bench.folder / "sourceful"; // only a common prefix
    CHECK(run(bench, options));
}

TEST_CASE("large files are written by direct I/O and read back meanwhile, with any number of threads")
{
    // Several chunks of 16 MiB in one file: five, or two where sanitizers make each byte slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr uint64_t kElements = 900'000;
#else
    constexpr uint64_t kElements = 2'500'000;
#endif
    const SyntheticPlan::Shape shape{2, 1, 5, kElements, 3};
    for (const auto where : {TemporaryFolder::Where::Disk, TemporaryFolder::Where::Memory}) {
        Bench bench(shape, where);
        for (const unsigned jobs : {1u, 2u, 5u}) {
            CAPTURE(jobs);
            ExecuteOptions options = bench.options(jobs);
            const auto report = run(bench, options);
            REQUIRE(report);
            CHECK(report->verified);
            CHECK(report->stageSeconds[static_cast<size_t>(Stage::Verification)] > 0);
            checkComplete(bench);
            std::filesystem::remove_all(bench.destination());
        }
    }
}

namespace {

/// A device that is slow to read from, so that writing could run ahead of reading back.
class SlowDevice final : public io::ForwardingFileSystem
{
public:
    SlowDevice()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        class File final : public io::ForwardingReadFile
        {
        public:
            using ForwardingReadFile::ForwardingReadFile;
            Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
            {
                std::this_thread::sleep_for(std::chrono::milliseconds(4));
                return ForwardingReadFile::readFromDevice(offset, out);
            }
        };
        SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openRead(path));
        return std::unique_ptr<io::ReadFile>(std::make_unique<File>(std::move(file)));
    }
};

} // namespace

TEST_CASE("a job of many small files needs few descriptors")
{
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit low = before;
    low.rlim_cur = 160;
    Bench bench({3, 400, 500, 30, 4});
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    SlowDevice files;
    const auto report = run(bench, bench.options(4), files);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(report);
    CHECK(report->verified);
    checkComplete(bench);
}

namespace {

/// Counts what is read by direct I/O below a folder.
class CountingFiles final : public io::ForwardingFileSystem
{
public:
    explicit CountingFiles(std::filesystem::path folder)
        : ForwardingFileSystem(io::realFileSystem())
        , m_folder(std::move(folder))
    {
    }

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        class File final : public io::ForwardingReadFile
        {
        public:
            File(std::unique_ptr<io::ReadFile> inner, std::atomic<uint64_t>& bytes)
                : ForwardingReadFile(std::move(inner))
                , m_bytes(bytes)
            {
            }
            Status readFromDevice(uint64_t offset, std::span<uint8_t> out) const override
            {
                m_bytes += out.size();
                return ForwardingReadFile::readFromDevice(offset, out);
            }

        private:
            std::atomic<uint64_t>& m_bytes;
        };
        SHARDSCOPE_TRY(auto file, ForwardingFileSystem::openRead(path));
        if (!path.string().starts_with(m_folder.string()))
            return file;
        return std::unique_ptr<io::ReadFile>(std::make_unique<File>(std::move(file), directBytes));
    }

    std::atomic<uint64_t> directBytes = 0;

private:
    std::filesystem::path m_folder;
};

} // namespace

TEST_CASE("sources that are not in the page cache are read by direct I/O, for the same output")
{
    for (const unsigned jobs : {1u, 2u}) {
        Bench bench({3, 2, 5, 700'000, 3}, TemporaryFolder::Where::Disk);
        bool possible = true;
        for (const PlanSource& source : bench.plan.sources) {
            const auto file = io::realFileSystem().openRead(source.path);
            REQUIRE(file);
            struct stat status {
            };
            REQUIRE(::stat(source.path.c_str(), &status) == 0);
            possible = possible && major(status.st_dev) != 0 && (*file)->readsDirectly();
        }
        ::sync(); // what was not written back stays in the page cache
        for (const PlanSource& source : bench.plan.sources) {
            const auto file = io::realFileSystem().openRead(source.path);
            REQUIRE(file);
            (*file)->dropCache(0, (*file)->size());
        }
        CountingFiles files(bench.plan.sourceRun());
        const auto report = run(bench, bench.options(jobs), files);
        REQUIRE_MESSAGE(report, describe(report.error()));
        checkComplete(bench);
        CHECK(report->fingerprint == expectedFingerprint(bench.plan));
        CHECK((files.directBytes > bench.plan.writesBytes / 2) == possible);
    }
}
