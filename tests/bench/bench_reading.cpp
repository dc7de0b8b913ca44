// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench.h"
#include "tests/bench/bench_figures.h"
#include "tests/bench/bench_process.h"

#include <fmt/format.h>

#include <filesystem>

namespace shardscope::bench {

namespace {

/// One verb that reads all values of the folders, against cat of the same files.
void measure(const BenchOptions& options, const std::string& verb, const std::vector<std::string>& command,
    const std::vector<io::Path>& folders)
{
    std::vector<std::string> read{"sh", "-c", "for folder; do cat \"$folder\"/*/* > /dev/null; done", "cat"};
    double bytes = 0;
    for (const io::Path& folder : folders) {
        read.push_back(folder.string());
        bytes += static_cast<double>(bytesBelow(folder));
    }
    const auto prepare = [&] {
        if (options.warm)
            runProgram(read);
        for (const io::Path& folder : folders) {
            if (!options.warm)
                forgetContents(folder);
        }
    };
    std::vector<double> reading;
    std::vector<double> working;
    std::vector<double> ratios;
    uint64_t peakBytes = 0;
    for (uint32_t round = 0; round < options.rounds; ++round) {
        prepare();
        reading.push_back(runProgram(read).seconds);
        prepare();
        const ProcessRun run = runProgram(command);
        working.push_back(run.seconds);
        peakBytes = std::max(peakBytes, run.peakBytes);
        ratios.push_back(reading.back() / working.back());
    }
    const Summary ratio = summarise(ratios);
    fmt::print("  {:<12} {:5.2f} GB/s, cat {:5.2f} GB/s, ratio {:.2f} ({:.2f} to {:.2f}), peak {:.0f} MiB\n",
        verb, bytes / summarise(working).median / 1e9, bytes / summarise(reading).median / 1e9, ratio.median,
        ratio.min, ratio.max, static_cast<double>(peakBytes) / (1024.0 * 1024));
    std::fflush(stdout);
}

} // namespace

void benchReading(const BenchOptions& options)
{
    const io::Path source = options.work / "digested";
    const io::Path other = options.work / "resharded";
    runProgram({options.generator, "--stage", "3", "--world", "8", "--bytes",
        std::to_string(options.reshardBytes), source.string()});
    runProgram({options.program, "reshard", source.string(), other.string(), "-w", "6", "--no-verify",
        "--progress", "none"});
    fmt::print("reading verbs, ZeRO-3, 8 ranks (diff: and 6), {:.2f} GiB, median of {}, sources {} the page "
               "cache\n",
        static_cast<double>(bytesBelow(source)) / (1024.0 * 1024 * 1024), options.rounds,
        options.warm ? "in" : "dropped from");
    const auto command = [&](std::vector<std::string> words) {
        words.insert(words.begin(), options.program);
        words.insert(words.end(), {"--json", "--progress", "none"});
        return words;
    };
    measure(options, "fingerprint", command({"fingerprint", source.string()}), {source});
    measure(options, "stats", command({"stats", source.string(), "--exact"}), {source});
    measure(options, "diff", command({"diff", source.string(), other.string()}), {source, other});
    std::filesystem::remove_all(source);
    std::filesystem::remove_all(other);
}

} // namespace shardscope::bench
