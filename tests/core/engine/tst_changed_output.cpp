// SPDX-License-Identifier: Apache-2.0
// What another program changes between writing and publishing is not published as verified, nor at all.
#include "tests/core/engine/execute_fixture.h"

#include "core/io/forwarding_file_system.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

void flip(const fs::path& path)
{
    std::string bytes = slurp(path);
    REQUIRE_FALSE(bytes.empty());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    spill(path, bytes);
}

/// Calls the test before some calls; where that returns false, the call fails.
class Meddled final : public io::ForwardingFileSystem
{
public:
    using Before = std::function<bool(const char* call, const io::Path& path)>;
    explicit Meddled(Before before)
        : io::ForwardingFileSystem(io::realFileSystem())
        , m_before(std::move(before))
    {
    }
    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        SHARDSCOPE_CHECK(ask("open", path));
        return io::ForwardingFileSystem::openRead(path);
    }
    Status appendSynced(const io::Path& path, std::string_view text) override
    {
        SHARDSCOPE_CHECK(ask(text.find(" sealed2 ") != std::string_view::npos ? "seal" : "append", path));
        return io::ForwardingFileSystem::appendSynced(path, text);
    }
    Status rename(const io::Path& from, const io::Path& to) override
    {
        SHARDSCOPE_CHECK(ask("rename", to));
        return io::ForwardingFileSystem::rename(from, to);
    }
    Status renameNoReplace(const io::Path& from, const io::Path& to) override
    {
        SHARDSCOPE_CHECK(ask("rename", to));
        return io::ForwardingFileSystem::renameNoReplace(from, to);
    }

private:
    Status ask(const char* call, const io::Path& path)
    {
        if (m_before(call, path))
            return {};
        return fail(ErrorCode::WriteFailed, "stopped by the test", path.string());
    }

    Before m_before;
};

} // namespace

TEST_CASE("a finished file that is changed or removed while others are written is not published")
{
    for (const bool verify : {true, false}) {
        for (const bool removes : {true, false}) {
            CAPTURE(verify);
            CAPTURE(removes);
            Bench bench;
            ExecuteOptions options = bench.options(1); // each file is read back before the next is written
            options.verify = verify;
            const fs::path first = bench.work() / "files" / bench.plan.files[0].path;
            bool done = false;
            Meddled files([&](const char* call, const io::Path&) {
                if (std::string(call) == "append" && fs::exists(first) && !done
                    && fs::exists(bench.work() / "files" / bench.plan.files[2].path)) {
                    done = true;
                    removes ? (void)fs::remove(first) : flip(first);
                }
                return true;
            });
            const auto report = run(bench, options, files);
            REQUIRE(done);
            REQUIRE_FALSE(report);
            CHECK(report.error().code != ErrorCode::Internal);
            checkNothingCommitted(bench);
            const auto again = run(bench, options);
            REQUIRE_MESSAGE(again, describe(again.error()));
            checkComplete(bench);
        }
    }
}

TEST_CASE("manifest, pointer and scripts are read back before anything is published")
{
    for (const std::string name : {"shardscope.json", "pointer"}) {
        CAPTURE(name);
        Bench bench;
        bool done = false;
        Meddled files([&](const char* call, const io::Path& path) {
            if (std::string(call) == "open" && path.filename() == name && !done) {
                done = true;
                flip(path);
            }
            return true;
        });
        const auto report = run(bench, bench.options(), files);
        CHECK(done);
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::VerifyFailed);
        checkNothingCommitted(bench);
        REQUIRE(run(bench, bench.options()));
        checkComplete(bench);
    }
}

TEST_CASE("what an interrupted run has still to publish is checked by the next one")
{
    const auto stopped = [](const Bench& bench, const std::string& atName) {
        Meddled files([&](const char* call, const io::Path& path) {
            return std::string(call) != "rename" || path != bench.destination() / atName;
        });
        REQUIRE_FALSE(run(bench, bench.options(), files));
        REQUIRE(fs::exists(bench.target()));
    };
    SUBCASE("the pointer is written again")
    {
        Bench bench;
        stopped(bench, "latest");
        spill(bench.work() / "pointer", "other");
        REQUIRE(run(bench, bench.options()));
        checkComplete(bench);
    }
    SUBCASE("a changed file next to the target is refused")
    {
        Bench bench;
        stopped(bench, "weights.bin");
        flip(bench.work() / "beside/weights.bin");
        const auto report = run(bench, bench.options());
        REQUIRE_FALSE(report);
        CHECK(report.error().code == ErrorCode::VerifyFailed);
        CHECK_FALSE(fs::exists(bench.destination() / "weights.bin"));
        CHECK_FALSE(fs::exists(bench.destination() / "latest"));
        ExecuteOptions options = bench.options();
        options.restart = options.force = true;
        REQUIRE(run(bench, options));
        checkComplete(bench);
    }
}
