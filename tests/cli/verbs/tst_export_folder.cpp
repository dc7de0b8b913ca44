// SPDX-License-Identifier: Apache-2.0
// An export into an existing folder: replaced files, their report, and mount points.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <sys/mount.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Words exportTo(const fs::path& target, const Words& more = {})
{
    Words out{"export", samplePath("zero2-w2"), target, "--format", "safetensors"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

} // namespace

TEST_CASE("export . --force does not change other files, and a dry run lists the files that it replaces")
{
    const TemporaryFolder folder;
    spill(folder / "README.md", "mine");
    fs::create_directories(folder / "src");
    spill(folder / "src/train.py", "mine, too");
    answerOf(exportTo(folder.path(), {"--shard-size", "2000"}));
    const Json refused = errorOf(exportTo(folder.path()), 5, "target-exists");
    Json dry = answerOf(exportTo(folder.path(), {"--force", "--dry-run"}));
    const Json replaced = dry.at("plan").at("replaces");
    CHECK(replaced.size() > 3);
    CHECK(std::find(replaced.begin(), replaced.end(), "shardscope.json") != replaced.end());
    CHECK(std::find(replaced.begin(), replaced.end(), "README.md") == replaced.end());
    const ProcessResult text = runShardscope(exportTo(folder.path(), {"--force", "--dry-run"}));
    CHECK(text.out.find("replaces  model-00001-of-") != std::string::npos);

    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    answerOf(exportTo(".", {"--force"}));
    fs::current_path(before);
    CHECK(slurp(folder / "README.md") == "mine");
    CHECK(slurp(folder / "src/train.py") == "mine, too");
    for (const Json& path : replaced)
        CHECK((path == "shardscope.json" || !fs::exists(folder / path.get<std::string>())));
    CHECK(fs::exists(folder / "model.safetensors"));
    CHECK(answerOf({"verify", folder.path()}).at("ok") == true);
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 4);
}

TEST_CASE("a dry run of a tag lists the files of the tag that --force replaces")
{
    const TemporaryFolder folder;
    const Words words{"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3", "--force", "--dry-run"};
    CHECK(answerOf(words).at("plan").at("replaces").empty());
    answerOf({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "3"});
    const Json dry = answerOf(words);
    CHECK(dry.at("plan").at("replaces").size() == dry.at("plan").at("files").size() + 1); // the manifest
}

TEST_CASE("target names that are not regular files are not replaced")
{
    const TemporaryFolder folder;
    fs::create_directories(folder / "out/model.safetensors");
    errorOf(exportTo(folder / "out"), 5, "target-exists");
    errorOf(exportTo(folder / "out", {"--force"}), 5, "target-exists");
    fs::remove(folder / "out/model.safetensors");
    spill(folder / "elsewhere", "x");
    fs::create_symlink(folder / "elsewhere", folder / "out/model.safetensors");
    errorOf(exportTo(folder / "out", {"--force"}), 5, "target-exists");
    CHECK(slurp(folder / "elsewhere") == "x");
}

TEST_CASE("export into an empty mount point")
{
    const TemporaryFolder folder;
    fs::create_directory(folder / "mount");
    if (::mount("tmpfs", (folder / "mount").c_str(), "tmpfs", 0, "size=4m") != 0) {
        MESSAGE("not tested: nothing can be mounted here");
        return;
    }
    const ProcessResult result = runShardscope(exportTo(folder / "mount"));
    const bool whole = fs::exists(folder / "mount/model.safetensors");
    const ProcessResult verified = runShardscope({"verify", folder / "mount"});
    const ProcessResult again = runShardscope(exportTo(folder / "mount", {"--force"}));
    CHECK(::umount((folder / "mount").c_str()) == 0);
    CHECK(result.exitCode == 0);
    CHECK(whole);
    CHECK(verified.exitCode == 0);
    CHECK(again.exitCode == 0);
}

TEST_CASE("an export without tensors of the model is marked, as any result despite a finding")
{
    const TemporaryFolder folder;
    const std::string source = samplePath("ds083-zero3-w2");
    errorOf({"export", source, folder / "none"}, 6, "refused");
    answerOf({"export", source, folder / "part", "--allow", "state-missing"});
    const Json marks = findingsOf(answerOf({"inspect", folder / "part"}).at("findings"), "marked");
    REQUIRE(marks.size() == 1);
    CHECK(marks.front().at("message").get<std::string>().find("positions.weight") != std::string::npos);
    CHECK(answerOf({"verify", folder / "part"}, 1).at("ok") == false);
    CHECK(answerOf({"verify", folder / "part", "--allow-marked"}).at("ok") == true);
    answerOf({"export", folder / "part", folder / "again"});
    CHECK(findingsOf(answerOf({"inspect", folder / "again"}).at("findings"), "marked").size() == 1);
}
