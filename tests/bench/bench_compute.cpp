// SPDX-License-Identifier: Apache-2.0
// How fast backends are on elements in memory: bench_compute [--elements N] [--threads N] [--rounds N]
// [--json]
#include "core/compute/compute_modules.h"
#include "tests/bench/bench_figures.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace {

using namespace shardscope;
using BackendPtr = std::shared_ptr<const ComputeBackend>;

struct Options {
    size_t elements = size_t{8} << 20U;
    unsigned threads = 1;
    unsigned rounds = 5;
    bool json = false;
};

/// Values of a normal kind, the same each time.
void fill(uint8_t* bytes, size_t elements)
{
    uint32_t state = 1;
    for (size_t i = 0; i < elements; ++i) {
        float sum = 0;
        for (int k = 0; k < 4; ++k) {
            state = state * 1664525U + 1013904223U;
            sum += static_cast<float>(static_cast<int32_t>(state)) * 0x1p-33F;
        }
        std::memcpy(bytes + i * sizeof sum, &sum, sizeof sum);
    }
}

/// What one thread works on: float32 values, the same as bfloat16, and room for what is made.
struct Buffers {
    Buffers(const ComputeBackend& backend, size_t elements)
        : wideMemory(backend.hostMemory(elements * 4))
        , narrowMemory(backend.hostMemory(elements * 2))
        , outMemory(backend.hostMemory(elements * 4))
        , wide(wideMemory.get(), elements * 4)
        , narrow(narrowMemory.get(), elements * 2)
        , out(outMemory.get(), elements * 4)
    {
        fill(wideMemory.get(), elements);
        const ElementCast cast{DType::Float32, wide, DType::BFloat16, narrow};
        plainBackend().transform({&cast, 1}, {});
    }
    HostMemory wideMemory;
    HostMemory narrowMemory;
    HostMemory outMemory;
    std::span<uint8_t> wide;
    std::span<uint8_t> narrow;
    std::span<uint8_t> out;
};

struct Operation {
    const char* name;
    size_t itemBytes; ///< bytes that go in, per element
    std::function<void(const ComputeBackend&, const Buffers&)> run;
};

void cast(const ComputeBackend& backend, const TypedBytes& in, DType to, std::span<uint8_t> out, bool digest)
{
    const ElementCast one{in.dtype, in.bytes, to, out.first(in.size() * itemSize(to))};
    ElementSum sum{{1, 2}, itemSize(to), std::nullopt, 0, one.out, {}};
    backend.transform({&one, 1}, std::span(&sum, digest ? 1 : 0));
}

std::vector<Operation> operations()
{
    return {
        {"cast float32 to bfloat16", 4,
            [](const auto& backend, const Buffers& b) {
                cast(backend, {DType::Float32, b.wide}, DType::BFloat16, b.out, false);
            }},
        {"cast float32 to float16", 4,
            [](const auto& backend, const Buffers& b) {
                cast(backend, {DType::Float32, b.wide}, DType::Float16, b.out, false);
            }},
        {"cast float32 to float8_e4m3fn", 4,
            [](const auto& backend, const Buffers& b) {
                cast(backend, {DType::Float32, b.wide}, DType::Float8E4M3, b.out, false);
            }},
        {"cast bfloat16 to float32", 2,
            [](const auto& backend, const Buffers& b) {
                cast(backend, {DType::BFloat16, b.narrow}, DType::Float32, b.out, false);
            }},
        {"cast float32 to bfloat16 and digest", 4,
            [](const auto& backend, const Buffers& b) {
                cast(backend, {DType::Float32, b.wide}, DType::BFloat16, b.out, true);
            }},
        {"digest float32", 4,
            [](const auto& backend, const Buffers& b) {
                ElementSum sum{{1, 2}, 4, std::nullopt, 0, b.wide, {}};
                backend.transform({}, {&sum, 1});
            }},
        {"statistics float32", 4,
            [](const auto& backend, const Buffers& b) {
                (void)backend.statistics(DType::Float32, b.wide, nullptr);
            }},
        {"statistics and histogram float32", 4,
            [](const auto& backend, const Buffers& b) {
                ValueHistogram histogram;
                (void)backend.statistics(DType::Float32, b.wide, &histogram);
            }},
        {"statistics bfloat16", 2,
            [](const auto& backend, const Buffers& b) {
                (void)backend.statistics(DType::BFloat16, b.narrow, nullptr);
            }},
        {"comparison float32", 8,
            [](const auto& backend, const Buffers& b) {
                (void)backend.comparison({DType::Float32, b.wide}, {DType::Float32, b.wide}, 0, {});
            }},
    };
}

/// GB/s of what goes in, all threads together; the median of the rounds.
double rate(const ComputeBackend& backend, const Operation& operation,
    const std::vector<std::unique_ptr<Buffers>>& buffers, const Options& options)
{
    std::vector<double> rates;
    for (unsigned round = 0; round <= options.rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        {
            std::vector<std::jthread> threads;
            for (const auto& one : buffers)
                threads.emplace_back([&] { operation.run(backend, *one); });
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        const auto bytes = static_cast<double>(options.elements * operation.itemBytes * buffers.size());
        if (round > 0) // the first one warms up
            rates.push_back(bytes / time.count() / 1e9);
    }
    return bench::summarise(rates).median;
}

} // namespace

int main(int argc, char** argv)
{
    Options options;
    CLI::App app("How fast backends are on elements in memory, in GB/s of what goes in");
    app.add_option("--elements", options.elements, "of each thread");
    app.add_option("--threads", options.threads);
    app.add_option("--rounds", options.rounds);
    app.add_flag("--json", options.json, "one line of JSON per figure");
    CLI11_PARSE(app, argc, argv);

    std::vector<BackendPtr> backends{BackendPtr(std::shared_ptr<void>(), &plainBackend())};
    for (auto loaded : {loadTorchBackend(), loadCudaBackend({})}) {
        if (loaded)
            backends.push_back(*loaded);
        else
            fmt::print(stderr, "skipped: {}\n", loaded.error().message);
    }
    if (!options.json)
        fmt::print("{}\n{} elements, {} threads, median of {}\n", bench::machineState(), options.elements,
            options.threads, options.rounds);
    for (const BackendPtr& backend : backends) {
        std::vector<std::unique_ptr<Buffers>> buffers;
        for (unsigned i = 0; i < options.threads; ++i)
            buffers.push_back(std::make_unique<Buffers>(*backend, options.elements));
        for (const Operation& operation : operations()) {
            const double gigabytes = rate(*backend, operation, buffers, options);
            if (options.json)
                fmt::print("{{\"backend\": \"{}\", \"operation\": \"{}\", \"gb_per_second\": {:.3f}}}\n",
                    backend->name(), operation.name, gigabytes);
            else
                fmt::print("  {:<18} {:<36} {:7.2f} GB/s\n", backend->name(), operation.name, gigabytes);
        }
    }
    return 0;
}
