// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench.h"
#include "tests/bench/bench_figures.h"
#include "tests/bench/bench_process.h"

#include <fmt/format.h>

#include <filesystem>

namespace shardscope::bench {

void benchFingerprint(const BenchOptions& options)
{
    const io::Path source = options.work / "digested";
    runProgram({options.generator, "--stage", "3", "--world", "8", "--bytes",
        std::to_string(options.reshardBytes), source.string()});
    const std::vector<std::string> read{"sh", "-c", "cat \"$0\"/*/* > /dev/null", source.string()};
    const std::vector<std::string> digest{
        options.program, "fingerprint", source.string(), "--json", "--progress", "none"};
    const auto bytes = static_cast<double>(bytesBelow(source));
    fmt::print("fingerprint, ZeRO-3, 8 ranks, {:.2f} GiB, median of {}, source {} the page cache\n",
        bytes / (1024.0 * 1024 * 1024), options.rounds, options.warm ? "in" : "dropped from");
    std::vector<double> reading;
    std::vector<double> digesting;
    std::vector<double> ratios;
    uint64_t peakBytes = 0;
    for (uint32_t round = 0; round < options.rounds; ++round) {
        const auto prepare = [&] {
            if (options.warm)
                runProgram(read);
            else
                forgetContents(source);
        };
        prepare();
        reading.push_back(runProgram(read).seconds);
        prepare();
        const ProcessRun run = runProgram(digest);
        digesting.push_back(run.seconds);
        peakBytes = std::max(peakBytes, run.peakBytes);
        ratios.push_back(reading.back() / digesting.back());
    }
    const Summary ratio = summarise(ratios);
    fmt::print("  cat > /dev/null      {:5.2f} GB/s\n", bytes / summarise(reading).median / 1e9);
    fmt::print("  fingerprint          {:5.2f} GB/s, ratio {:.2f} ({:.2f} to {:.2f}), peak {:.0f} MiB\n",
        bytes / summarise(digesting).median / 1e9, ratio.median, ratio.least, ratio.most,
        static_cast<double>(peakBytes) / (1024.0 * 1024));
    std::filesystem::remove_all(source);
}

} // namespace shardscope::bench
