// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench.h"
#include "tests/bench/bench_figures.h"
#include "tests/bench/bench_process.h"
#include "tests/support/waiting_file_system.h"

#include "core/checkpoint/model/require.h"
#include "core/checkpoint/open/open.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace shardscope::bench {

namespace {

constexpr uint32_t kOpenRounds = 5;

double millisecondsSince(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void measureOpen(
    const BenchOptions& options, const io::Path& checkpoint, const std::string& depth, uint32_t rounds)
{
    std::vector<double> times;
    uint64_t peak = 0;
    for (uint32_t round = 0; round < rounds; ++round) {
        const ProcessRun run = runProgram({options.self, "--open", checkpoint.string(), "--depth", depth});
        times.push_back(std::strtod(run.output.c_str(), nullptr));
        peak = std::max(peak, run.peakBytes);
    }
    const Summary time = summarise(times);
    fmt::print("  {:<9} {:8.0f} ms ({:.0f} to {:.0f}, {} runs), peak {:.0f} MiB; {}\n", depth, time.median,
        time.min, time.max, rounds, static_cast<double>(peak) / (1024.0 * 1024), machineState());
    std::fflush(stdout);
}

} // namespace

void benchInspect(const BenchOptions& options)
{
    std::vector<double> times;
    uint64_t peak = 0;
    for (uint32_t round = 0; round < options.inspectRounds; ++round) {
        const ProcessRun run = runProgram({options.program, "inspect", options.sample});
        times.push_back(run.seconds * 1000);
        peak = std::max(peak, run.peakBytes);
    }
    const Summary time = summarise(times);
    fmt::print(
        "inspect, start to exit, small checkpoint: {:.1f} ms ({:.1f} to {:.1f}, median of {}), peak {:.0f} "
        "MiB; {}\n",
        time.median, time.min, time.max, options.inspectRounds, static_cast<double>(peak) / (1024.0 * 1024),
        machineState());
}

void benchOpen(const BenchOptions& options)
{
    // The smallest payload that gives so many parameters: opening never reads payloads.
    const std::string params = std::to_string(options.openParams);
    const io::Path two = options.work / "open2";
    runProgram({options.generator, "--stage", "2", "--world", std::to_string(options.openFiles - 1),
        "--params", params, "--bytes", "1", "--sparse", two.string()});
    fmt::print("open, ZeRO-2, {} files, {} parameters, warm\n", options.openFiles, options.openParams);
    measureOpen(options, two, "full", kOpenRounds);
    std::filesystem::remove_all(two);

    // Model files hold a record per parameter: 500 real ones would be tens of gigabytes, so they are one,
    // linked.
    const io::Path three = options.work / "open3";
    runProgram({options.generator, "--stage", "3", "--world", std::to_string(options.openFiles / 2),
        "--params", params, "--bytes", "1", "--sparse", "--link-model-files", three.string()});
    fmt::print("open, ZeRO-3, {} files ({} model files are links to one), {} parameters, warm\n",
        options.openFiles, options.openFiles / 2, options.openParams);
    measureOpen(options, three, "structure", kOpenRounds);
    measureOpen(options, three, "full", 1);
    std::filesystem::remove_all(three);
}

int openChild(const std::string& path, const std::string& depth, uint32_t waitMilliseconds)
{
    test::WaitingFileSystem waiting{std::chrono::milliseconds(waitMilliseconds)};
    io::FileSystem& files = waitMilliseconds > 0 ? waiting : io::realFileSystem();
    OpenOptions options;
    options.depth = depth == "structure" ? OpenDepth::Structure : OpenDepth::Full;
    JobContext job;
    const auto start = std::chrono::steady_clock::now();
    const auto opened = openCheckpoint(files, path, options, job);
    const double milliseconds = millisecondsSince(start);
    if (!opened || !requireModel(*opened->checkpoint)) {
        fmt::print(stderr, "{}: cannot be opened\n", path);
        return 1;
    }
    const Checkpoint& checkpoint = *opened->checkpoint;
    fmt::print("{:.1f} ms, {} parameters, {} files, {} findings", milliseconds, checkpoint.params.size(),
        checkpoint.files.size(), checkpoint.findings.size());
    if (waitMilliseconds > 0)
        fmt::print(", {} calls of {} ms", waiting.rounds(), waitMilliseconds);
    fmt::print("\n");
    std::fflush(stdout);
    std::_Exit(0); // freeing the model is not measured
}

} // namespace shardscope::bench
