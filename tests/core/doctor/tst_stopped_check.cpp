// SPDX-License-Identifier: Apache-2.0
// A stop reaches reads that are under way. What they leave unread is not a problem of the checkpoint.
#include "core/io/forwarding_file_system.h"
#include "tests/support/damages.h"

#include <algorithm>
#include <atomic>
#include <limits>

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// Stops a job when a number of files have been opened, and opens no others.
class GivenUpFiles final : public io::ForwardingFileSystem
{
public:
    explicit GivenUpFiles(uint64_t most)
        : ForwardingFileSystem(io::realFileSystem())
        , m_most(most)
    {
    }

    Result<std::unique_ptr<io::ReadFile>> openRead(const io::Path& path) override
    {
        if (opened++ < m_most)
            return ForwardingFileSystem::openRead(path);
        stop.request_stop();
        return fail(ErrorCode::Unreadable, "the read was given up", path.native());
    }

    std::stop_source stop;
    std::atomic<uint64_t> opened = 0;

private:
    uint64_t m_most;
};

Result<CheckResult> checked(GivenUpFiles& files, const Patchable& copy)
{
    CheckOptions options;
    options.depth = CheckDepth::Bytes;
    options.open.tag = copy.tag().filename().string();
    options.jobs = 2;
    JobContext job(files.stop.get_token());
    return examine(files, copy.run(), options, job);
}

} // namespace

TEST_CASE(
    "a check that is stopped says so, keeps what it found, and finds nothing in reads that were given up")
{
    const Patchable copy("zero3-w4");
    std::filesystem::remove(copy.tag() / copy.filesLike("rank_3_mp_rank_00_optim_states.pt").at(0));
    GivenUpFiles all(std::numeric_limits<uint64_t>::max());
    const auto whole = checked(all, copy);
    REQUIRE(whole);
    CHECK((!whole->stopped && whole->tiers[static_cast<size_t>(CheckDepth::Bytes)].done));
    REQUIRE(!troubles(*whole).empty());
    CHECK(findingOf(*whole, "file-unreadable") == nullptr);
    const uint64_t opens = all.opened;
    REQUIRE(opens > 4);
    size_t kept = 0;
    for (uint64_t most = 0; most < opens; most += most + 6 < opens ? 1 + opens / 40 : 1) {
        CAPTURE(most);
        GivenUpFiles files(most);
        const auto result = checked(files, copy);
        if (!files.stop.stop_requested())
            continue;
        if (!result) {
            CHECK(result.error().code == ErrorCode::Cancelled);
            continue;
        }
        CHECK(result->stopped);
        CHECK(findingOf(*result, "file-unreadable") == nullptr);
        for (const DoctorFinding& found : result->findings)
            CHECK(textOf(found).find("was given up") == std::string::npos);
        kept += troubles(*result).empty() ? 0 : 1;
    }
    CHECK(kept > 0);
}
