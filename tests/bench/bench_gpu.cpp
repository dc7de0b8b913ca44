// SPDX-License-Identifier: Apache-2.0
// Throughput of the GPU path compared with plain copies: bench_gpu [--threads N] [--file FILE]
// The upper limit is plain copies from pinned memory. Compared with it: the backend on pinned memory, on what
// is read from FILE, and plain code on all processors.
#include "core/compute/cuda/cuda_gpu.h"
#include "core/compute/cuda/gpu_backend.h"
#include "tests/bench/bench_figures.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace {

using namespace shardscope;
using namespace shardscope::compute;

constexpr size_t kBytes = size_t{16} << 20U; // of one call
constexpr double kSeconds = 1.0;
constexpr size_t kDifferent = 8191; // values

/// GB/s of `threads` threads that call `work(thread)`, each of which takes in kBytes, for about kSeconds.
double rateOf(unsigned threads, const std::function<void(unsigned)>& work)
{
    for (unsigned i = 0; i < threads; ++i)
        work(i); // warms up
    std::atomic<uint64_t> calls = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto since
        = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    {
        std::vector<std::jthread> all;
        for (unsigned i = 0; i < threads; ++i)
            all.emplace_back([&, i] {
                while (since() < kSeconds) {
                    work(i);
                    ++calls;
                }
            });
    }
    return static_cast<double>(calls * kBytes) / since() / 1e9;
}

Result<double> copyCeiling(Gpu& gpu)
{
    struct Lane {
        std::unique_ptr<GpuQueue> queue;
        uint8_t* host = nullptr;
        uint8_t* device = nullptr;
    };
    std::vector<Lane> lanes(4);
    for (Lane& lane : lanes) {
        SHARDSCOPE_TRY(lane.queue, gpu.makeQueue());
        SHARDSCOPE_TRY(lane.host, gpu.allocateHost(kBytes));
        SHARDSCOPE_TRY(lane.device, gpu.allocate(kBytes));
        std::memset(lane.host, 1, kBytes);
    }
    const double rate = rateOf(static_cast<unsigned>(lanes.size()), [&](unsigned i) {
        (void)lanes[i].queue->copyIn(lanes[i].device, lanes[i].host, kBytes);
        (void)lanes[i].queue->finish();
    });
    for (const Lane& lane : lanes) {
        gpu.release(lane.device);
        gpu.releaseHost(lane.host);
    }
    return rate;
}

struct Work {
    HostMemory in;
    HostMemory out;
};

/// Values of `different` kinds; 1: zeros, as most of a young optimizer state is.
std::vector<Work> workFor(const ComputeBackend& backend, unsigned threads, size_t different)
{
    std::vector<Work> out;
    for (unsigned i = 0; i < threads; ++i) {
        out.push_back({backend.hostMemory(kBytes), backend.hostMemory(kBytes)});
        for (size_t at = 0; at < kBytes; at += 4) {
            const float value = static_cast<float>(at % different) * 1e-4F;
            std::memcpy(out.back().in.get() + at, &value, sizeof value);
        }
    }
    return out;
}

void statisticsOf(const ComputeBackend& backend, const Work& work)
{
    ValueHistogram histogram;
    (void)backend.statistics(DType::Float32, {work.in.get(), kBytes}, &histogram);
}

void comparisonOf(const ComputeBackend& backend, const Work& work)
{
    const TypedBytes half{DType::Float32, {work.in.get(), kBytes / 2}};
    (void)backend.comparison(half, half, 0, {});
}

void castAndDigest(const ComputeBackend& backend, const Work& work)
{
    const std::span<uint8_t> out(work.out.get(), kBytes / 2);
    const ElementCast cast{DType::Float32, {work.in.get(), kBytes}, DType::BFloat16, out};
    ElementSum sum{{{1, 2, 3, 4}}, 2, std::nullopt, 0, out, {}};
    backend.transform({&cast, 1}, {&sum, 1});
}

using Operation = void (*)(const ComputeBackend&, const Work&);

void report(const char* name, Operation operation, const ComputeBackend& gpu, unsigned threads,
    double ceiling, size_t different)
{
    const std::vector<Work> pinned = workFor(gpu, threads, different);
    const std::vector<Work> pageable = workFor(plainBackend(), threads, different);
    const double fast = rateOf(threads, [&](unsigned i) { operation(gpu, pinned[i]); });
    const double detour = rateOf(threads, [&](unsigned i) { operation(gpu, pageable[i]); });
    const double plain = rateOf(threads, [&](unsigned i) { operation(plainBackend(), pageable[i]); });
    fmt::print(
        "  {:<26} pinned {:6.2f} GB/s = {:3.0f} % of the ceiling; other memory {:6.2f}; plain code {:6.2f}; "
        "speed-up {:.1f}\n",
        name, fast, 100 * fast / ceiling, detour, plain, fast / plain);
}

void reportFile(const io::Path& path, const ComputeBackend& gpu, unsigned threads)
{
    const auto file = io::realFileSystem().openRead(path);
    if (!file || (*file)->size() < kBytes) {
        fmt::print(stderr, "skipped: {} cannot be read or is too short\n", path.string());
        return;
    }
    const uint64_t parts = (*file)->size() / kBytes;
    for (const ComputeBackend* backend : {&gpu, &plainBackend()}) {
        const std::vector<Work> work = workFor(*backend, threads, kDifferent);
        std::atomic<uint64_t> next = 0;
        const auto read = [&](unsigned i) {
            (void)(*file)->readAt(next++ % parts * kBytes, {work[i].in.get(), kBytes});
        };
        const double reading = rateOf(threads, read);
        const double both = rateOf(threads, [&](unsigned i) {
            read(i);
            statisticsOf(*backend, work[i]);
        });
        fmt::print("  file, {}: reading alone {:6.2f} GB/s, with statistics {:6.2f} = {:3.0f} %\n",
            backend->name(), reading, both, 100 * both / reading);
    }
}

} // namespace

int main(int argc, char** argv)
{
    unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    std::string path;
    CLI::App app("What the GPU path reaches of what copies reach");
    app.add_option("--threads", threads);
    app.add_option("--file", path, "elements are also read from this file");
    CLI11_PARSE(app, argc, argv);

    auto gpus = findGpus(0);
    if (!gpus) {
        fmt::print("skipped: {}\n", gpus.error().message);
        return 0;
    }
    const auto ceiling = copyCeiling(*gpus->front());
    auto backend = GpuBackend::make(std::move(*gpus), uint64_t{512} << 20U);
    if (!ceiling || !backend) {
        fmt::print(stderr, "{}\n", ceiling ? backend.error().message : ceiling.error().message);
        return 1;
    }
    fmt::print("{}\n{}, {} threads, calls of 16 MiB\n", bench::machineState(), (*backend)->name(), threads);
    fmt::print("  copies from pinned memory  {:6.2f} GB/s: the ceiling\n", *ceiling);
    report("statistics and histogram", statisticsOf, **backend, threads, *ceiling, kDifferent);
    report("the same of zeros", statisticsOf, **backend, threads, *ceiling, 1);
    report("comparison with itself", comparisonOf, **backend, threads, *ceiling, kDifferent);
    report("cast to bfloat16, digest", castAndDigest, **backend, threads, *ceiling, kDifferent);
    if (!path.empty())
        reportFile(path, **backend, threads);
    for (const std::string& note : (*backend)->notes())
        fmt::print("  note: {}\n", note);
    return 0;
}
