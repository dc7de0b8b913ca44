// SPDX-License-Identifier: Apache-2.0
// How a reshard is planned and divided by each of many processes: seconds, memory, and balance.
#include "core/checkpoint/open/open.h"
#include "core/engine/parts/part_ranges.h"
#include "core/plan/reshard/reshard.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

using namespace shardscope;

namespace {

double peakMiB()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Seconds since the last call.
class Clock
{
public:
    double lap()
    {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(m_last, now)).count();
    }

private:
    std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
};

Status run(const std::string& source, uint32_t worldSize, uint32_t processes)
{
    io::FileSystem& files = io::realFileSystem();
    JobContext job;
    Clock clock;
    SHARDSCOPE_TRY(const auto opened, openCheckpoint(files, source, {}, job));
    fmt::print("opened in {:.2f} s, peak {:.0f} MiB\n", clock.lap(), peakMiB());
    SHARDSCOPE_TRY(const auto plan, planReshard(files, opened.checkpoint, {.worldSize = worldSize}, job));
    fmt::print("planned in {:.2f} s: {:.1f} GB in {} files, peak {:.0f} MiB\n", clock.lap(),
        static_cast<double>(plan->writesBytes) / 1e9, plan->files.size(), peakMiB());
    SHARDSCOPE_TRY(const auto all, rangesOf(*plan, {}, {}));
    SHARDSCOPE_TRY(const auto parts, divideRanges(*plan, all, processes, {}));
    const double mean = static_cast<double>(bytesOf(all)) / processes;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (const auto& part : parts) {
        least = std::min(least, bytesOf(part));
        most = std::max(most, bytesOf(part));
    }
    fmt::print("divided for {} processes in {:.2f} s: {:.2f} to {:.2f} % of the mean\n", processes,
        clock.lap(), 100 * static_cast<double>(least) / mean, 100 * static_cast<double>(most) / mean);
    return {};
}

} // namespace

int main(int argc, char** argv)
{
    CLI::App app("Divides a reshard for many processes. The source may be sparse: no values are read.");
    std::string source;
    uint32_t worldSize = 0;
    uint32_t processes = 64;
    app.add_option("SRC", source, "a checkpoint")->required();
    app.add_option("--world-size", worldSize, "ranks of the target")->required();
    app.add_option("--processes", processes);
    CLI11_PARSE(app, argc, argv);
    const Status status = run(source, worldSize, processes);
    if (!status)
        fmt::print(stderr, "{}\n", describe(status.error()));
    return status ? 0 : 1;
}
