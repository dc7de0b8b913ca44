// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench.h"
#include "tests/bench/bench_figures.h"
#include "tests/bench/bench_process.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include <unistd.h>

namespace shardscope::bench {

namespace {

constexpr uint32_t kWorld = 8;
constexpr uint32_t kNewWorld = 6;

/// One way to write the same bytes, and what its runs took.
struct Contender {
    std::string name;
    std::vector<std::string> command;
    bool syncAfter = false;
    std::vector<double> seconds = {};
    std::vector<double> processorSeconds = {};
    uint64_t peakBytes = 0;
    uint64_t bytes = 0;
};

void runOnce(Contender& contender, const io::Path& source, const io::Path& target, bool warm)
{
    std::filesystem::remove_all(target);
    ::sync(); // writing back old dirty pages must not count in the measured time
    if (warm)
        runProgram({"sh", "-c", "cat \"$0\"/*/* > /dev/null", source.string()});
    else
        forgetContents(source);
    std::vector<std::string> command = contender.command;
    if (contender.syncAfter) // one shell, so that both are in one figure
        command = {"sh", "-c", "\"$@\" && sync", "sh"};
    if (contender.syncAfter)
        command.insert(command.end(), contender.command.begin(), contender.command.end());
    const ProcessRun run = runProgram(command);
    contender.seconds.push_back(run.seconds);
    contender.processorSeconds.push_back(run.processorSeconds);
    contender.peakBytes = std::max(contender.peakBytes, run.peakBytes);
    contender.bytes = bytesBelow(target);
    std::filesystem::remove_all(target);
}

} // namespace

void benchReshard(const BenchOptions& options, int stage)
{
    const io::Path source = options.work / fmt::format("source{}", stage);
    const io::Path target = options.work / "target";
    runProgram({options.generator, "--stage", std::to_string(stage), "--world", std::to_string(kWorld),
        "--bytes", std::to_string(options.reshardBytes), source.string()});
    const std::vector<std::string> reshard{options.program, "reshard", source.string(), target.string(),
        "--world-size", std::to_string(kNewWorld), "--progress", "none"};
    std::vector<std::string> unverified = reshard;
    unverified.emplace_back("--no-verify");
    std::vector<Contender> contenders{
        {"cp -r, sync", {"cp", "-r", source.string(), target.string()}, true},
        {"reshard --no-verify", unverified},
        {"reshard", reshard},
    };

    fmt::print("reshard, ZeRO-{}, {} -> {} ranks, {:.2f} GiB, median of {}, source {} the page cache\n",
        stage, kWorld, kNewWorld, static_cast<double>(bytesBelow(source)) / (1024.0 * 1024 * 1024),
        options.rounds, options.warm ? "in" : "dropped from");
    for (uint32_t round = 0; round < options.rounds; ++round) {
        for (Contender& contender : contenders)
            runOnce(contender, source, target, options.warm);
        // Compare the three ways of one round: other users of the disk affect all three.
        fmt::print("  round {}: {:.1f} s, {:.1f} s, {:.1f} s; {}\n", round + 1, contenders[0].seconds.back(),
            contenders[1].seconds.back(), contenders[2].seconds.back(), machineState());
        std::fflush(stdout);
    }
    const auto rate = [](const Contender& contender, size_t round) {
        return static_cast<double>(contender.bytes) / contender.seconds[round];
    };
    for (const Contender& contender : contenders) {
        std::vector<double> ratios;
        for (size_t round = 0; round < options.rounds; ++round)
            ratios.push_back(rate(contender, round) / rate(contenders[0], round));
        const Summary seconds = summarise(contender.seconds);
        const Summary ratio = summarise(ratios);
        fmt::print("  {:<20} {:6.1f} s ({:.1f} to {:.1f}), {:4.0f} MiB/s, ratio {:.2f} ({:.2f} to {:.2f}), "
                   "processor {:.1f} s, peak {:.0f} MiB\n",
            contender.name, seconds.median, seconds.min, seconds.max,
            static_cast<double>(contender.bytes) / seconds.median / (1024.0 * 1024), ratio.median, ratio.min,
            ratio.max, summarise(contender.processorSeconds).median,
            static_cast<double>(contender.peakBytes) / (1024.0 * 1024));
    }
    std::filesystem::remove_all(source);
}

} // namespace shardscope::bench
