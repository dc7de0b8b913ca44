// SPDX-License-Identifier: Apache-2.0
// A module is code: it is not loaded from where somebody else could have put it.
#include "core/compute/compute_modules.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

TEST_CASE("a module that somebody else could have written is not loaded")
{
    const TemporaryFolder folder;
    const fs::path root = folder / "install";
    const fs::path module = root / "lib/shardscope/shardscope_torch.so";
    fs::create_directories(module.parent_path());
    spill(module, "code");
    const std::vector<fs::path> levels{module, module.parent_path(), root / "lib", root};
    for (const fs::path& level : levels)
        REQUIRE(::chmod(level.c_str(), 0755) == 0);
    CHECK(whyNotTrusted(module).empty());
    for (const fs::path& level : levels) {
        CAPTURE(level);
        REQUIRE(::chmod(level.c_str(), 0757) == 0);
        CHECK(whyNotTrusted(module).starts_with(level.string() + " can be written by other users"));
        REQUIRE(::chmod(level.c_str(), 0755) == 0);
        if (::geteuid() != 0)
            continue;
        REQUIRE(::chown(level.c_str(), 54321, gid_t(-1)) == 0);
        CHECK(whyNotTrusted(module).starts_with(level.string() + " belongs to user 54321"));
        REQUIRE(::chown(level.c_str(), 0, 54321) == 0);
        REQUIRE(::chmod(level.c_str(), 0775) == 0);
        CHECK(whyNotTrusted(module).starts_with(level.string() + " can be written by other users"));
        REQUIRE(::chmod(level.c_str(), 0755) == 0);
    }
    // In a sticky folder such as /tmp others cannot replace it. A link is followed first.
    REQUIRE(::chmod(root.c_str(), 01777) == 0);
    CHECK(whyNotTrusted(module).empty());
    fs::create_directory(folder / "elsewhere");
    fs::create_symlink(module, folder / "elsewhere/link.so");
    REQUIRE(::chmod(module.c_str(), 0666) == 0);
    CHECK(!whyNotTrusted(folder / "elsewhere/link.so").empty());
    CHECK(!whyNotTrusted(root / "absent.so").empty());
}
