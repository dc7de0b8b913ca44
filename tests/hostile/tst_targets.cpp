// SPDX-License-Identifier: Apache-2.0
// Invalid targets are reported before anything is written, with and without --dry-run.
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct Refusal {
    int exitCode = 0;
    std::string code;
    std::string word; ///< of the message or the hint
};

/// Resharding to `target` and planning it dry end with this code, say the word, name the target, and touch
/// nothing.
void checkRefused(const TemporaryFolder& folder, const fs::path& run, const fs::path& target,
    const Refusal& refusal, const Words& more = {})
{
    const auto& [exitCode, code, word] = refusal;
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
    checkRefused(folder, run, run, {2, "usage", inside});
    checkRefused(folder, run, run / "", {2, "usage", inside});
    checkRefused(folder, run, run / "out", {2, "usage", inside});
    checkRefused(folder, run, run / "a/b/c", {2, "usage", inside});
    checkRefused(folder, run, run / "global_step6", {2, "usage", inside});
    checkRefused(folder, run, run / "global_step6/out", {2, "usage", inside});
    checkRefused(folder, run, run / "../zero2-w2/out", {2, "usage", inside});
    checkRefused(folder, run, folder / "absent/../zero2-w2/out", {2, "usage", inside});
    // The tag alone as the source changes nothing: its run folder is what must stay as it is.
    checkRefused(folder, run / "global_step6", run / "out", {2, "usage", inside});
    checkRefused(folder, run, folder.path(), {2, "usage", "contains the source"});
    checkRefused(folder, run, run / "..", {2, "usage", "contains the source"});
    checkRefused(folder, run, "/", {2, "usage", "contains the source"});
    for (const char* const option : {"--force", "--restart", "--no-latest"})
        checkRefused(folder, run, run / "out", {2, "usage", inside}, {option});
}

TEST_CASE("the same by way of links")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directory_symlink(run, folder / "link");
    fs::create_directory_symlink(run / "global_step3", folder / "deep");
    fs::create_directory_symlink(folder.path(), folder / "around");
    checkRefused(folder, run, folder / "link", {2, "usage", "inside the source"});
    checkRefused(folder, run, folder / "link/out", {2, "usage", "inside the source"});
    checkRefused(folder, run, folder / "deep/out", {2, "usage", "inside the source"});
    checkRefused(folder, folder / "link", run / "out", {2, "usage", "inside the source"});
    checkRefused(folder, run, folder / "around", {2, "usage", "contains the source"});
    checkRefused(folder, run, folder / "around/link/out", {2, "usage", "inside the source"});
}

TEST_CASE("a target that is a file, or is below one")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(folder / "file", "x");
    fs::create_symlink(folder / "file", folder / "link");
    checkRefused(folder, run, folder / "file", {2, "usage", "not a folder"});
    checkRefused(folder, run, folder / "file/out", {2, "usage", "below a file"});
    checkRefused(folder, run, folder / "file/a/b", {2, "usage", "below a file"});
    checkRefused(folder, run, folder / "link", {2, "usage", "not a folder"});
    checkRefused(folder, run, folder / "link/out", {2, "usage", "below a file"});
    checkRefused(folder, run, "/dev/null", {2, "usage", "not a folder"});
    checkRefused(folder, run, "/dev/null/out", {2, "usage", "below a file"});
}

TEST_CASE("a target with a link loop or a broken link")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_symlink("loop", folder / "loop");
    fs::create_symlink(folder / "b", folder / "a");
    fs::create_symlink(folder / "a", folder / "b");
    checkRefused(folder, run, folder / "loop", {5, "write-failed", "loop"});
    checkRefused(folder, run, folder / "loop/out", {5, "write-failed", "loop"});
    checkRefused(folder, run, folder / "a/out", {5, "write-failed", "loop"});
    fs::create_symlink(folder / "nowhere", folder / "dangling");
    checkRefused(folder, run, folder / "dangling", {5, "write-failed", "link"});
    fs::create_symlink(run / "new", folder / "into");
    checkRefused(folder, run, folder / "into", {5, "write-failed", "link"});
    checkRefused(folder, run, folder / std::string(300, 'n'), {5, "write-failed", "long"});
}

TEST_CASE("a target that is there")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    spill(folder / "file/global_step6", "x");
    checkRefused(folder, run, folder / "file", {5, "target-exists", "--force"});
    spill(folder / "folder/global_step6/note", "x");
    checkRefused(folder, run, folder / "folder", {5, "target-exists", "--force"});
    fs::create_directories(folder / "blank/global_step6");
    checkRefused(folder, run, folder / "blank", {5, "target-exists", "--force"});
    // Other tags and files of the target's run folder do not conflict, and stay.
    runVerb({"reshard", run, folder / "folder", "-w", "2", "--tag-out", "global_step7"}, 0);
    CHECK(slurp(folder / "folder/global_step6/note") == "x");
    checkRefused(
        folder, run, folder / "folder", {5, "target-exists", "--force"}, {"--tag-out", "global_step7"});
    checkRefused(folder, run, folder / "folder",
        {5, "target-exists", "neither DeepSpeed nor Shardscope writes: note"}, {"--force"});
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
        checkRefused(folder, run, folder / "store", {2, "usage", "contains the source"}, options);
    checkRefused(
        folder, run, folder / "store/global_step6/out", {2, "usage", "inside the source"}, {"--force"});
    // Each file of the tag may be a link by itself.
    fs::remove(run / "global_step6");
    for (const auto& entry : fs::directory_iterator(folder / "store/global_step6")) {
        fs::create_directories(run / "global_step6");
        fs::create_symlink(entry.path(), run / "global_step6" / entry.path().filename());
    }
    checkRefused(folder, run, folder / "store", {2, "usage", "this job reads the target"}, {"--force"});
    runVerb({"convert", run, folder / "store", "--to", "universal", "--force"}, 0); // next to it is free
}

TEST_CASE("--force replaces only folders, and no links")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_directories(folder / "else/kept");
    fs::create_directories(folder / "out");
    fs::create_directory_symlink(folder / "else/kept", folder / "out/global_step6");
    checkRefused(folder, run, folder / "out", {5, "target-exists", "symbolic link"}, {"--force"});
    spill(folder / "file/global_step6", "x");
    checkRefused(folder, run, folder / "file", {5, "target-exists", "not a folder"}, {"--force"});
}
