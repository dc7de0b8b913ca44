// SPDX-License-Identifier: Apache-2.0
// Invalid targets are reported before anything is written, with and without --dry-run.
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// Resharding to `target` and planning it dry end with this code, say `word`, name the target, and touch
/// nothing.
void checkRefused(const fs::path& run, const fs::path& target, int exitCode, const std::string& code,
    const std::string& word, const TemporaryFolder& folder, const Words& more = {})
{
    CAPTURE(target);
    const auto before = traceOf(folder.path());
    for (const bool dry : {true, false}) {
        CAPTURE(dry);
        Words words{"reshard", run, target, "-w", "3"};
        words.insert(words.end(), more.begin(), more.end());
        if (dry)
            words.emplace_back("--dry-run");
        const Json error = runVerb(words, exitCode);
        CAPTURE(error.dump());
        CHECK(error.at("code") == code);
        const std::string text = error.at("message").dump() + error.at("hint").dump();
        CHECK(text.find(word) != std::string::npos);
        CHECK(error.at("path").get<std::string>().find(target.filename().string()) != std::string::npos);
        CHECK(traceOf(folder.path()) == before);
    }
}

} // namespace

TEST_CASE("a target inside the source, equal to it, or around it")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string inside = "inside the source";
    checkRefused(run, run, 2, "usage", inside, folder);
    checkRefused(run, run / "", 2, "usage", inside, folder);
    checkRefused(run, run / "out", 2, "usage", inside, folder);
    checkRefused(run, run / "a/b/c", 2, "usage", inside, folder);
    checkRefused(run, run / "global_step6", 2, "usage", inside, folder);
    checkRefused(run, run / "global_step6/out", 2, "usage", inside, folder);
    checkRefused(run, run / "../zero2-w2/out", 2, "usage", inside, folder);
    checkRefused(run, folder / "absent/../zero2-w2/out", 2, "usage", inside, folder);
    // The tag alone as the source changes nothing: its run folder is what must stay as it is.
    checkRefused(run / "global_step6", run / "out", 2, "usage", inside, folder);
    checkRefused(run, folder.path(), 2, "usage", "contains the source", folder);
    checkRefused(run, run / "..", 2, "usage", "contains the source", folder);
    checkRefused(run, "/", 2, "usage", "contains the source", folder);
    for (const char* const option : {"--force", "--restart", "--no-latest"})
        checkRefused(run, run / "out", 2, "usage", inside, folder, {option});
}

TEST_CASE("the same by way of links")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directory_symlink(run, folder / "link");
    fs::create_directory_symlink(run / "global_step3", folder / "deep");
    fs::create_directory_symlink(folder.path(), folder / "around");
    checkRefused(run, folder / "link", 2, "usage", "inside the source", folder);
    checkRefused(run, folder / "link/out", 2, "usage", "inside the source", folder);
    checkRefused(run, folder / "deep/out", 2, "usage", "inside the source", folder);
    checkRefused(folder / "link", run / "out", 2, "usage", "inside the source", folder);
    checkRefused(run, folder / "around", 2, "usage", "contains the source", folder);
    checkRefused(run, folder / "around/link/out", 2, "usage", "inside the source", folder);
}

TEST_CASE("a target that is a file, or is below one")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(folder / "file", "x");
    fs::create_symlink(folder / "file", folder / "link");
    checkRefused(run, folder / "file", 2, "usage", "not a folder", folder);
    checkRefused(run, folder / "file/out", 2, "usage", "below a file", folder);
    checkRefused(run, folder / "file/a/b", 2, "usage", "below a file", folder);
    checkRefused(run, folder / "link", 2, "usage", "not a folder", folder);
    checkRefused(run, folder / "link/out", 2, "usage", "below a file", folder);
    checkRefused(run, "/dev/null", 2, "usage", "not a folder", folder);
    checkRefused(run, "/dev/null/out", 2, "usage", "below a file", folder);
}

TEST_CASE("a target with a link loop or a broken link")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_symlink("loop", folder / "loop");
    fs::create_symlink(folder / "b", folder / "a");
    fs::create_symlink(folder / "a", folder / "b");
    checkRefused(run, folder / "loop", 5, "write-failed", "loop", folder);
    checkRefused(run, folder / "loop/out", 5, "write-failed", "loop", folder);
    checkRefused(run, folder / "a/out", 5, "write-failed", "loop", folder);
    fs::create_symlink(folder / "nowhere", folder / "dangling");
    checkRefused(run, folder / "dangling", 5, "write-failed", "link", folder);
    fs::create_symlink(run / "new", folder / "into");
    checkRefused(run, folder / "into", 5, "write-failed", "link", folder);
    checkRefused(run, folder / std::string(300, 'n'), 5, "write-failed", "long", folder);
}

TEST_CASE("a target that is there")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(folder / "file/global_step6", "x");
    checkRefused(run, folder / "file", 5, "target-exists", "--force", folder);
    spill(folder / "folder/global_step6/note", "x");
    checkRefused(run, folder / "folder", 5, "target-exists", "--force", folder);
    fs::create_directories(folder / "blank/global_step6");
    checkRefused(run, folder / "blank", 5, "target-exists", "--force", folder);
    // Other tags and files of the target's run folder do not conflict, and stay.
    runVerb({"reshard", run, folder / "folder", "-w", "3", "--tag-out", "global_step7"}, 0);
    CHECK(slurp(folder / "folder/global_step6/note") == "x");
    checkRefused(
        run, folder / "folder", 5, "target-exists", "--force", folder, {"--tag-out", "global_step7"});
    checkRefused(run, folder / "folder", 5, "target-exists", "neither DeepSpeed nor Shardscope writes: note",
        folder, {"--force"});
    fs::remove(folder / "folder/global_step6/note");
    runVerb({"reshard", run, folder / "folder", "-w", "3", "--force"}, 0);
    runVerb({"verify", folder / "folder", "--against", run}, 0);
    CHECK(traceOf(run).size() == traceOf(samplePath("zero2-w2")).size());
}

TEST_CASE("--force replaces no folder that the job reads, however it is reached")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directories(folder / "store");
    fs::rename(run / "global_step6", folder / "store/global_step6");
    fs::create_directory_symlink("../store/global_step6", run / "global_step6");
    for (const Words& options : {Words{}, Words{"--force"}, Words{"--force", "--tag-out", "other"}})
        checkRefused(run, folder / "store", 2, "usage", "contains the source", folder, options);
    checkRefused(
        run, folder / "store/global_step6/out", 2, "usage", "inside the source", folder, {"--force"});
    // Each file of the tag may be a link by itself.
    fs::remove(run / "global_step6");
    for (const auto& entry : fs::directory_iterator(folder / "store/global_step6")) {
        fs::create_directories(run / "global_step6");
        fs::create_symlink(entry.path(), run / "global_step6" / entry.path().filename());
    }
    checkRefused(run, folder / "store", 2, "usage", "this job reads the target", folder, {"--force"});
    runVerb({"convert", run, folder / "store", "--to", "universal", "--force"}, 0); // next to it is free
}

TEST_CASE("--force replaces only folders, and no links")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directories(folder / "else/kept");
    fs::create_directories(folder / "out");
    fs::create_directory_symlink(folder / "else/kept", folder / "out/global_step6");
    checkRefused(run, folder / "out", 5, "target-exists", "symbolic link", folder, {"--force"});
    spill(folder / "file/global_step6", "x");
    checkRefused(run, folder / "file", 5, "target-exists", "not a folder", folder, {"--force"});
}
