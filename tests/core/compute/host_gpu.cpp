// SPDX-License-Identifier: Apache-2.0
#include "tests/core/compute/host_gpu.h"

#include "core/compute/cuda/block_kernels.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

namespace shardscope::test {

namespace {

using namespace shardscope::compute;

/// The threads of a block run one after the other.
struct HostBlock {
    template <class Step>
    void each(Step step)
    {
        for (uint32_t thread = 0; thread < kThreads; ++thread)
            step(thread);
    }
    void count(uint32_t* bins, uint32_t bin) { ++bins[bin]; }
};

uint64_t tilesOf(uint64_t elements)
{
    return (elements + kTileElements - 1) / kTileElements;
}

/// Allocated memory. Thread-safe.
class Allocations
{
public:
    uint8_t* add(size_t bytes)
    {
        auto* const data = static_cast<uint8_t*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
        std::memset(data, 0xCD, bytes);
        const std::lock_guard lock(m_mutex);
        m_ranges[data] = bytes;
        return data;
    }
    size_t remove(uint8_t* data)
    {
        const std::lock_guard lock(m_mutex);
        const size_t bytes = m_ranges.at(data);
        m_ranges.erase(data);
        std::free(data);
        return bytes;
    }
    bool contain(const uint8_t* data, size_t bytes) const
    {
        const std::lock_guard lock(m_mutex);
        auto after = m_ranges.upper_bound(data);
        if (after == m_ranges.begin())
            return false;
        --after;
        return data + bytes <= after->first + after->second;
    }

private:
    mutable std::mutex m_mutex;
    std::map<const uint8_t*, size_t> m_ranges;
};

class HostGpu final : public Gpu
{
public:
    HostGpu(uint32_t number, std::shared_ptr<HostGpuPlan> plan)
        : m_number(number)
        , m_plan(std::move(plan))
    {
    }
    uint32_t number() const override { return m_number; }
    std::string name() const override { return "a GPU that the host plays"; }
    Result<std::unique_ptr<GpuQueue>> makeQueue() override;

    Result<uint8_t*> allocate(size_t bytes) override
    {
        if (m_plan->used + bytes > m_plan->memoryBytes)
            return fail(ErrorCode::Unsupported, "memory of the GPU: out of memory");
        m_plan->used += bytes;
        m_plan->most = std::max<size_t>(m_plan->most, m_plan->used);
        return m_device.add(bytes);
    }
    void release(uint8_t* device) override { m_plan->used -= m_device.remove(device); }
    Result<uint8_t*> allocateHost(size_t bytes) override { return m_host.add(bytes); }
    void releaseHost(uint8_t* host) override { m_host.remove(host); }

    Status step(bool sound)
    {
        if (!sound)
            return fail(ErrorCode::Unsupported, "an illegal memory access was encountered");
        if (m_plan->failAfter >= 0 && m_plan->failAfter.fetch_sub(1) <= 0) {
            m_plan->failAfter = 0;
            return fail(ErrorCode::Unsupported, "the device is lost");
        }
        return {};
    }
    bool isDevice(const void* data, size_t bytes) const
    {
        return m_device.contain(static_cast<const uint8_t*>(data), bytes);
    }
    bool isHost(const uint8_t* data, size_t bytes) const { return m_host.contain(data, bytes); }
    HostGpuPlan& plan() { return *m_plan; }

private:
    uint32_t m_number;
    std::shared_ptr<HostGpuPlan> m_plan;
    Allocations m_device;
    Allocations m_host;
};

class HostQueue final : public GpuQueue
{
public:
    explicit HostQueue(HostGpu& gpu)
        : m_gpu(gpu)
    {
    }

    Status copyIn(uint8_t* device, const uint8_t* host, size_t bytes) override
    {
        ++m_gpu.plan().copies;
        return later(m_gpu.isDevice(device, bytes) && m_gpu.isHost(host, bytes),
            [=] { std::memcpy(device, host, bytes); });
    }
    Status copyOut(uint8_t* host, const uint8_t* device, size_t bytes) override
    {
        ++m_gpu.plan().copies;
        return later(m_gpu.isDevice(device, bytes) && m_gpu.isHost(host, bytes),
            [=] { std::memcpy(host, device, bytes); });
    }
    Status clear(uint8_t* device, size_t bytes) override
    {
        return later(m_gpu.isDevice(device, bytes), [=] { std::memset(device, 0, bytes); });
    }
    Status cast(const CastTile* tiles, size_t count) override
    {
        return kernel(m_gpu.isDevice(tiles, count * sizeof *tiles), [=] {
            HostBlock block;
            for (size_t i = 0; i < count; ++i)
                castTile(block, tiles[i]);
        });
    }
    Status sum(const SumTile* tiles, TileSum* sums, size_t count) override
    {
        return kernel(
            m_gpu.isDevice(tiles, count * sizeof *tiles) && m_gpu.isDevice(sums, count * sizeof *sums), [=] {
                HostBlock block;
                PerThread<TileSum> parts;
                for (size_t i = 0; i < count; ++i)
                    sumTile(block, parts, tiles[i], sums[i]);
            });
    }
    Status statistics(const GpuElements& elements, uint32_t* bins, TileStatistics* out) override
    {
        const uint64_t tiles = tilesOf(elements.count);
        return kernel(isThere(elements) && m_gpu.isDevice(out, tiles * sizeof *out)
                && (bins == nullptr || m_gpu.isDevice(bins, kHistogramBins * sizeof *bins)),
            [=] {
                HostBlock block;
                StatisticsShared shared;
                for (uint64_t tile = 0; tile < tiles; ++tile)
                    statisticsTile(block, shared, elements, tile, bins,
                        std::numeric_limits<double>::infinity(), out[tile]);
            });
    }
    Status compare(const GpuElements& left, const GpuElements& right, const GpuTolerance& tolerance,
        TileComparison* out) override
    {
        const uint64_t tiles = tilesOf(left.count);
        return kernel(isThere(left) && isThere(right) && m_gpu.isDevice(out, tiles * sizeof *out), [=] {
            HostBlock block;
            PerThread<TileComparison> parts;
            for (uint64_t tile = 0; tile < tiles; ++tile)
                comparisonTile(block, parts, left, right, tile, tolerance, out[tile]);
        });
    }
    Status finish() override
    {
        for (const auto& work : m_work)
            work();
        m_work.clear();
        return m_gpu.step(true);
    }

private:
    bool isThere(const GpuElements& elements) const
    {
        return m_gpu.isDevice(
            elements.bytes, elements.count * kGpuItemBytes[static_cast<size_t>(elements.type)]);
    }
    template <class Work>
    Status kernel(bool sound, Work work)
    {
        ++m_gpu.plan().kernels;
        return later(sound, work);
    }
    Status later(bool sound, std::function<void()> work)
    {
        SHARDSCOPE_CHECK(m_gpu.step(sound));
        m_work.push_back(std::move(work));
        return {};
    }

    HostGpu& m_gpu;
    std::vector<std::function<void()>> m_work;
};

Result<std::unique_ptr<GpuQueue>> HostGpu::makeQueue()
{
    return std::unique_ptr<GpuQueue>(std::make_unique<HostQueue>(*this));
}

} // namespace

std::unique_ptr<Gpu> makeHostGpu(uint32_t number, std::shared_ptr<HostGpuPlan> plan)
{
    return std::make_unique<HostGpu>(number, std::move(plan));
}

} // namespace shardscope::test
