// SPDX-License-Identifier: Apache-2.0
// --log-file accepts only regular files; no other file may block the program.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

TEST_CASE("a log file that is not a regular file is refused at once")
{
    const TemporaryFolder folder;
    const fs::path fifo = folder / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    fs::create_symlink(fifo, folder / "link-to-fifo");
    fs::create_directory(folder / "folder");
    for (const fs::path& path :
        {fifo, folder / "link-to-fifo", folder / "folder", fs::path("/dev/full"), fs::path("/dev/null")}) {
        CAPTURE(path);
        // `timeout` ends a program that waits for a reader of the FIFO with exit code 124.
        const ProcessResult result = runProcess(
            {"/usr/bin/timeout", "10", programPath(), "inspect", samplePath("zero2-w2"), "--log-file", path});
        CHECK(result.exitCode == 5);
        CHECK(result.err.find("not a regular file") != std::string::npos);
        CHECK(result.out.empty());
    }
}

TEST_CASE("the log is appended to a regular file, also through a link")
{
    const TemporaryFolder folder;
    spill(folder / "log", "before\n");
    fs::create_symlink(folder / "log", folder / "link");
    const ProcessResult result = runShardscope({"reshard", samplePath("zero2-w2"), folder / "out", "-w", "2",
        "--dry-run", "--log-file", folder / "link"});
    CHECK(result.exitCode == 0);
    const std::string log = slurp(folder / "log");
    CHECK(log.starts_with("before\n"));
    CHECK(log.find("planning for world size 2") != std::string::npos);
    CHECK(fs::is_symlink(folder / "link"));
}

TEST_CASE("no option writes into what is read")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path other = folder / "zero3-w4";
    fs::copy(samplePath("zero3-w4"), other, fs::copy_options::recursive);
    const std::string shard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const fs::path weights = folder / "weights";
    REQUIRE(runShardscope({"export", run, weights, "--quiet"}).exitCode == 0);
    const std::string plan = folder / "plan.json";
    REQUIRE(runShardscope({"plan", "reshard", run, folder / "x", "-w", "3", "-o", plan}).exitCode == 0);
    fs::create_symlink(run, folder / "link");
    fs::create_symlink(run / "global_step6" / shard, folder / "file-link");
    fs::create_symlink(run / "new", folder / "broken-link");
    fs::create_hard_link(run / "global_step6" / shard, folder / "hard-link");
    const auto before = std::pair(contentOf(run), contentOf(other));

    const std::string param = "layers.0.attention.wo.weight";
    std::vector<Words> all;
    for (const fs::path& into : {run, run / "global_step6", run / "global_step3", folder / "link",
             run / "missing/folder", folder / "link/global_step6/../global_step3"}) {
        all.insert(all.end(),
            {{"inspect", run, "--log-file", into / "log"}, {"inspect", run, "--log-file", into / shard},
                {"reshard", run, folder / "out", "-w", "3", "--log-file", into / "log"},
                {"check", run, "--html", into / "new.html"},
                {"check", run, "--sarif", into / shard, "--force"},
                {"check", other, run, "--html", into / "new.html"},
                {"show", run, param, "--npy", into / "new.npy"},
                {"show", run, param, "--npy", into / shard, "--force"},
                {"plan", "reshard", run, folder / "out", "-w", "3", "-o", into / shard, "--force"},
                {"diff", other, run, "--log-file", into / "log"},
                {"verify", other, "--against", run, "--log-file", into / "log"},
                {"inspect", other, "--root", run, "--log-file", into / "log"},
                {"repair", other, folder / "out", "--from", run, "--log-file", into / "log"},
                {"tags", run / "global_step6", "--log-file", into / "log"},
                {"ensure", run, "-w", "3", "--log-file", into / "log"},
                {"inspect", run / "global_step6" / shard, "--log-file", into / "log"},
                {"run", plan, "--dry-run", "--log-file", into / "log"}, {"skeleton", run, into / "new.zip"}});
    }
    all.push_back({"inspect", run, "--log-file", folder / "file-link"});
    all.push_back({"inspect", weights, "--log-file", weights / "log"});
    all.push_back({"inspect", weights / "model.safetensors", "--log-file", weights / "model.safetensors"});
    for (const Words& words : all)
        errorOf(words, 2, "usage");
    errorOf({"inspect", run, "--log-file", folder / "broken-link"}, 5, "write-failed");
    errorOf({"inspect", run, "--log-file", folder / "hard-link"}, 5, "write-failed");
    CHECK(std::pair(contentOf(run), contentOf(other)) == before);

    // Next to the run, and next to one file of weights, is the user's own place.
    CHECK(runShardscope({"inspect", run, "--log-file", folder / "log"}).exitCode == 0);
    CHECK(runShardscope({"check", run, "--html", folder / "report.html"}).exitCode <= 1);
    const fs::path single = weights / "model.safetensors";
    CHECK(runShardscope({"inspect", single, "--log-file", weights / "log"}).exitCode == 0);
    // A tag folder alone, such as in a home folder: the folder around it is no run.
    fs::create_directory(folder / "home");
    fs::copy(run / "global_step6", folder / "home/global_step6", fs::copy_options::recursive);
    const Words alone{"inspect", folder / "home/global_step6", "--log-file", folder / "home/log"};
    CHECK(runShardscope(alone).exitCode == 0);
}
