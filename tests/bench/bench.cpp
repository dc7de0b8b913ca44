// SPDX-License-Identifier: Apache-2.0
// Measures the built programs and prints the figures; it does not evaluate them.
#include "tests/bench/bench.h"
#include "tests/bench/bench_figures.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

/// All where none is named.
void runBenches(const shardscope::bench::BenchOptions& options, const std::vector<std::string>& only)
{
    using namespace shardscope::bench;
    const auto wanted = [&](const std::string& name) {
        return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
    };
    if (wanted("inspect"))
        benchInspect(options);
    if (wanted("open"))
        benchOpen(options);
    if (wanted("reshard")) {
        benchReshard(options, 3);
        benchReshard(options, 2);
    }
    if (wanted("reading"))
        benchReading(options);
}

} // namespace

int main(int argc, char** argv)
{
    using namespace shardscope::bench;
    BenchOptions options;
    options.program = SHARDSCOPE_PROGRAM;
    options.generator = SHARDSCOPE_GENERATOR;
    options.self = std::filesystem::read_symlink("/proc/self/exe").string();
    options.sample = SHARDSCOPE_SOURCE_DIR "/tests/data/samples/zero3-w4";

    CLI::App app("Prints what the budgets are about: reshard against cp -r and sync on the same disk, start "
                 "to exit of "
                 "inspect, opening 1,000 files with 300,000 parameters; and memory.");
    std::string work = ".";
    std::string open;
    std::string depth = "full";
    uint32_t waitMilliseconds = 0;
    bool quick = false;
    std::vector<std::string> only;
    app.add_option(
           "WORK", work, "folder on the disk to measure; about three times --bytes is used there, and freed")
        ->check(CLI::ExistingDirectory);
    app.add_flag("--quick", quick, "small sizes: shows that it works, measures nothing");
    app.add_option("--only", only, "some of: reshard, reading, inspect, open")
        ->delimiter(',')
        ->check(CLI::IsMember({"reshard", "reading", "inspect", "open"}));
    app.add_option("--bytes", options.reshardBytes, "of the checkpoint to reshard")
        ->transform(CLI::AsSizeValue(false));
    app.add_option("--rounds", options.rounds, "of reshard")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_flag(
        "--warm", options.warm, "read sources into the page cache before each run of reshard and cp");
    app.add_option("--open", open, "only open this checkpoint and print how long it took");
    app.add_option("--depth", depth, "of --open")->check(CLI::IsMember({"structure", "full"}));
    app.add_option("--wait-ms", waitMilliseconds, "of --open: every call for files waits so long");
    CLI11_PARSE(app, argc, argv);
    if (!open.empty())
        return openChild(open, depth, waitMilliseconds);
    if (quick) {
        options.reshardBytes = uint64_t{64} << 20U;
        options.rounds = 1;
        options.inspectRounds = 5;
        options.openParams = 3'000;
        options.openFiles = 20;
    }

    options.work = std::filesystem::absolute(work) / fmt::format("shardscope-bench-{}", ::getpid());
    std::filesystem::create_directory(options.work);
    fmt::print("{}\n", machineState());
    runBenches(options, only);
    std::filesystem::remove_all(options.work);
    return 0;
}
