// SPDX-License-Identifier: Apache-2.0
// Tests the code around the kernels with a GPU that the host simulates: batches, memory, failures. What the
// kernels compute is in tst_casts.cpp and tst_backends.cpp, which run on this GPU, too.
#include "core/compute/cuda/gpu_backend.h"
#include "core/compute/cuda/gpu_transform.h"
#include "core/tensor/convert.h"
#include "tests/core/compute/backends.h"
#include "tests/core/compute/host_gpu.h"

#include <doctest/doctest.h>

#include <thread>

using namespace shardscope;
using namespace shardscope::test;
using compute::GpuBackend;

namespace {

struct Bench {
    explicit Bench(size_t gpus = 1, uint64_t memory = uint64_t{64} << 20, size_t lanes = 2)
    {
        std::vector<std::unique_ptr<compute::Gpu>> made;
        for (size_t i = 0; i < gpus; ++i) {
            plans.push_back(std::make_shared<HostGpuPlan>());
            made.push_back(makeHostGpu(static_cast<uint32_t>(i), plans.back()));
        }
        auto backendMade = GpuBackend::make(std::move(made), memory, lanes);
        REQUIRE(backendMade);
        backend = std::move(*backendMade);
    }
    std::vector<std::shared_ptr<HostGpuPlan>> plans;
    std::unique_ptr<GpuBackend> backend;
};

/// A cast of float32 to bfloat16 with the sum of what it makes.
struct Job {
    explicit Job(size_t elements, uint32_t seed)
        : random(seed)
        , in(normalElements(DType::Float32, elements, random))
        , out(elements * 2)
        , cast{DType::Float32, in, DType::BFloat16, out}
        , sum{{{random(), random(), random(), random()}}, 2, std::nullopt, 77, out, {}}
    {
    }
    bool isRight() const
    {
        std::vector<uint8_t> meant(out.size());
        convertElements(DType::Float32, in, DType::BFloat16, meant);
        return meant == out && sum.digest == digestElements(sum.key, 2, 77, meant);
    }
    std::mt19937_64 random;
    std::vector<uint8_t> in;
    std::vector<uint8_t> out;
    ElementCast cast;
    ElementSum sum;
};

} // namespace

TEST_CASE("work larger than the GPU's memory is done in parts")
{
    Bench bench(1, uint64_t{16} << 20, 2);
    Job job(12'000'000, 1); // 48 MB in, 24 MB out
    bench.backend->transform({&job.cast, 1}, {&job.sum, 1});
    CHECK(job.isRight());
    CHECK(bench.plans[0]->kernels > 2);
    CHECK(bench.plans[0]->most <= size_t{16} << 20);
    CHECK(bench.backend->notes().empty());

    ValueHistogram bins;
    const Statistics found = bench.backend->statistics(DType::Float32, job.in, &bins);
    CHECK(found.elements == 12'000'000);
    CHECK(found.max == plainStatistics(DType::Float32, job.in, nullptr).max);
    const Comparison same
        = bench.backend->comparison({DType::Float32, job.in}, {DType::Float32, job.in}, 0, {});
    CHECK(same.elements == 12'000'000);
    CHECK(same.different == 0);
}

TEST_CASE("pinned memory is copied from directly, without a staging buffer")
{
    Bench bench;
    constexpr size_t kElements = 1 << 20;
    Job job(kElements, 2);
    const HostMemory in = bench.backend->hostMemory(job.in.size());
    const HostMemory out = bench.backend->hostMemory(job.out.size());
    std::copy(job.in.begin(), job.in.end(), in.get());
    const std::span<uint8_t> made(out.get(), job.out.size());
    const ElementCast cast{DType::Float32, {in.get(), job.in.size()}, DType::BFloat16, made};
    bench.backend->transform({&cast, 1}, {});
    // In, its tiles, out.
    CHECK(bench.plans[0]->copies == 3);
    convertElements(DType::Float32, job.in, DType::BFloat16, job.out);
    CHECK(std::equal(job.out.begin(), job.out.end(), out.get()));
}

TEST_CASE("adjacent pieces are one copy")
{
    Bench bench;
    std::mt19937_64 random(3);
    const HostMemory memory = bench.backend->hostMemory(size_t{1} << 20);
    const std::span<uint8_t> bytes(memory.get(), size_t{1} << 20);
    for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(random());
    std::vector<ElementSum> sums;
    for (size_t at = 0; at < bytes.size(); at += 1024)
        sums.push_back(
            {{{random(), random(), random(), random()}}, 4, std::nullopt, at, bytes.subspan(at, 1024), {}});
    bench.backend->transform({}, sums);
    CHECK(bench.plans[0]->copies <= 3 + 1); // the list of tiles may take two
    for (const ElementSum& sum : sums)
        CHECK(sum.digest == plainSum(sum));
}

TEST_CASE("losing the GPU at any step does not change the results")
{
    // The work has at most this many steps; later failures never happen.
    bool failed = true;
    for (int64_t step = 0; failed; ++step) {
        Bench bench(1, uint64_t{16} << 20, 1);
        Job job(3'000'000, 4);
        bench.plans[0]->failAfter = step;
        bench.backend->transform({&job.cast, 1}, {&job.sum, 1});
        CHECK(job.isRight());
        failed = !bench.backend->notes().empty();
        if (failed) {
            CHECK(bench.backend->notes().front().find("the device is lost") != std::string::npos);
            CHECK(bench.plans[0]->used == 0);
        }
        ValueHistogram bins;
        const Statistics meant = plainStatistics(DType::Float32, job.in, nullptr);
        CHECK(bench.backend->statistics(DType::Float32, job.in, &bins).max == meant.max);
        uint64_t counted = 0;
        for (const auto& octave : bins.octaves())
            counted += octave.count;
        CHECK(counted == 3'000'000);
        REQUIRE(step < 200);
    }
}

TEST_CASE("with two GPUs, the other one continues after a failure")
{
    Bench bench(2);
    bench.plans[1]->failAfter = 0;
    for (uint32_t i = 0; i < 8; ++i) {
        Job job(100'000, 10 + i);
        bench.backend->transform({&job.cast, 1}, {&job.sum, 1});
        CHECK(job.isRight());
    }
    CHECK(bench.backend->notes().size() == 1);
    CHECK(bench.plans[0]->kernels > 0);
    CHECK(bench.backend->device() == "cuda:0,1");
}

TEST_CASE("a GPU with little free memory is used within that memory")
{
    auto plan = std::make_shared<HostGpuPlan>();
    plan->memoryBytes = size_t{20} << 20;
    std::vector<std::unique_ptr<compute::Gpu>> gpus;
    gpus.push_back(makeHostGpu(0, plan));
    const auto backend = GpuBackend::make(std::move(gpus), uint64_t{512} << 20);
    REQUIRE(backend);
    Job job(5'000'000, 5);
    (*backend)->transform({&job.cast, 1}, {&job.sum, 1});
    CHECK(job.isRight());
    CHECK(plan->kernels > 0);

    auto full = std::make_shared<HostGpuPlan>();
    full->memoryBytes = 1000;
    gpus.clear();
    gpus.push_back(makeHostGpu(0, full));
    const auto none = GpuBackend::make(std::move(gpus), uint64_t{512} << 20);
    REQUIRE(!none);
    CHECK(none.error().message.find("no memory") == 0);
    CHECK(full->used == 0);
}

TEST_CASE("more threads than lanes")
{
    Bench bench(2, uint64_t{64} << 20, 1);
    std::vector<std::unique_ptr<Job>> jobs;
    for (uint32_t i = 0; i < 12; ++i)
        jobs.push_back(std::make_unique<Job>(200'000, 100 + i));
    {
        std::vector<std::jthread> threads;
        for (const auto& job : jobs)
            threads.emplace_back([&] { bench.backend->transform({&job->cast, 1}, {&job->sum, 1}); });
    }
    for (const auto& job : jobs)
        CHECK(job->isRight());
}

TEST_CASE("sums that casts make in part, and sums across several casts")
{
    std::mt19937_64 random(6);
    Bench bench(1, uint64_t{16} << 20, 1);
    for (int round = 0; round < 50; ++round) {
        // One buffer of float32 elements: runs that a cast fills and runs that exist already.
        constexpr size_t kElements = 60'000;
        std::vector<uint8_t> meant = normalElements(DType::Float32, kElements, random);
        std::vector<uint8_t> found = meant;
        std::vector<std::vector<uint8_t>> sources;
        std::vector<ElementCast> meantCasts;
        std::vector<ElementCast> foundCasts;
        for (size_t at = random() % 500; at < kElements;) {
            const size_t count = std::min<size_t>(1 + random() % 9000, kElements - at);
            sources.push_back(normalElements(DType::Float16, count, random));
            const std::span<uint8_t> one(meant);
            const std::span<uint8_t> other(found);
            meantCasts.push_back(
                {DType::Float16, sources.back(), DType::Float32, one.subspan(at * 4, count * 4)});
            foundCasts.push_back(
                {DType::Float16, sources.back(), DType::Float32, other.subspan(at * 4, count * 4)});
            at += count + (random() % 2 == 0 ? random() % 3000 : 0);
        }
        std::vector<ElementSum> sums;
        for (size_t at = 0; at < kElements;) {
            const size_t count = std::min<size_t>(1 + random() % 20000, kElements - at);
            sums.push_back({{{random(), random(), random(), random()}}, 4, std::nullopt, random() >> 30,
                std::span<const uint8_t>(found).subspan(at * 4, count * 4), {}});
            at += count;
        }
        plainBackend().transform(meantCasts, {});
        bench.backend->transform(foundCasts, sums);
        CHECK(meant == found);
        for (const ElementSum& sum : sums)
            CHECK(sum.digest == plainSum(sum));
    }
}
