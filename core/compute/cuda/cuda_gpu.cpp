// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/cuda_gpu.h"

#include "core/compute/cuda/kernels.h"

#include <cuda_runtime_api.h>

#include <utility>

namespace shardscope::compute {

namespace {

Status check(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return {};
    (void)cudaGetLastError(); // what can be forgotten is
    return fail(ErrorCode::Unsupported, std::string(what) + ": " + cudaGetErrorString(error));
}

/// The GPU of the calling thread, for as long as this lives.
class CurrentGpu
{
public:
    explicit CurrentGpu(uint32_t number)
    {
        (void)cudaGetDevice(&m_before);
        (void)cudaSetDevice(static_cast<int>(number));
    }
    ~CurrentGpu() { (void)cudaSetDevice(m_before); }
    CurrentGpu(const CurrentGpu&) = delete;
    CurrentGpu& operator=(const CurrentGpu&) = delete;

private:
    int m_before = 0;
};

class CudaQueue final : public GpuQueue
{
public:
    CudaQueue(uint32_t number, cudaStream_t stream)
        : m_number(number)
        , m_stream(stream)
    {
    }
    ~CudaQueue() override
    {
        const CurrentGpu current(m_number);
        (void)cudaStreamDestroy(m_stream);
    }

    Status copyIn(uint8_t* device, const uint8_t* host, size_t bytes) override
    {
        const CurrentGpu current(m_number);
        return check(
            cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, m_stream), "copying to the GPU");
    }
    Status copyOut(uint8_t* host, const uint8_t* device, size_t bytes) override
    {
        const CurrentGpu current(m_number);
        return check(
            cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, m_stream), "copying from the GPU");
    }
    Status clear(uint8_t* device, size_t bytes) override
    {
        const CurrentGpu current(m_number);
        return check(cudaMemsetAsync(device, 0, bytes, m_stream), "clearing memory of the GPU");
    }
    Status cast(const CastTile* tiles, size_t count) override
    {
        return launch("casting", [&] { launchCasts(tiles, count, m_stream); });
    }
    Status sum(const SumTile* tiles, TileSum* sums, size_t count) override
    {
        return launch("summing", [&] { launchSums(tiles, sums, count, m_stream); });
    }
    Status statistics(const GpuElements& elements, uint32_t* bins, TileStatistics* out) override
    {
        return launch("statistics", [&] { launchStatistics(elements, bins, out, m_stream); });
    }
    Status compare(const GpuElements& left, const GpuElements& right, const GpuTolerance& tolerance,
        TileComparison* out) override
    {
        return launch("comparing", [&] { launchComparison(left, right, tolerance, out, m_stream); });
    }
    Status finish() override
    {
        const CurrentGpu current(m_number);
        return check(cudaStreamSynchronize(m_stream), "waiting for the GPU");
    }

private:
    template <class Start>
    Status launch(const char* what, Start start)
    {
        const CurrentGpu current(m_number);
        start();
        return check(cudaGetLastError(), what);
    }

    uint32_t m_number;
    cudaStream_t m_stream;
};

class CudaGpu final : public Gpu
{
public:
    CudaGpu(uint32_t number, std::string name)
        : m_number(number)
        , m_name(std::move(name))
    {
    }

    uint32_t number() const override { return m_number; }
    std::string name() const override { return m_name; }

    Result<std::unique_ptr<GpuQueue>> makeQueue() override
    {
        const CurrentGpu current(m_number);
        cudaStream_t stream = nullptr;
        SHARDSCOPE_CHECK(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"));
        return std::unique_ptr<GpuQueue>(std::make_unique<CudaQueue>(m_number, stream));
    }
    Result<uint8_t*> allocate(size_t bytes) override
    {
        const CurrentGpu current(m_number);
        void* out = nullptr;
        SHARDSCOPE_CHECK(check(cudaMalloc(&out, bytes), "memory of the GPU"));
        return static_cast<uint8_t*>(out);
    }
    void release(uint8_t* device) override
    {
        const CurrentGpu current(m_number);
        (void)cudaFree(device);
    }
    Result<uint8_t*> allocateHost(size_t bytes) override
    {
        const CurrentGpu current(m_number);
        void* out = nullptr;
        SHARDSCOPE_CHECK(check(cudaHostAlloc(&out, bytes, cudaHostAllocPortable), "host memory for copies"));
        return static_cast<uint8_t*>(out);
    }
    void releaseHost(uint8_t* host) override { (void)cudaFreeHost(host); }

private:
    uint32_t m_number;
    std::string m_name;
};

} // namespace

Result<std::vector<std::unique_ptr<Gpu>>> findGpus(std::optional<uint32_t> number)
{
    int count = 0; // unchanged where there is no driver
    const cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaErrorInsufficientDriver)
        return fail(ErrorCode::Unsupported, "no driver for NVIDIA GPUs, or one too old for this build");
    if (found != cudaSuccess || count == 0)
        return fail(ErrorCode::Unsupported, std::string("no GPU is found: ") + cudaGetErrorString(found));
    if (number && *number >= static_cast<uint32_t>(count))
        return fail(ErrorCode::Unsupported,
            "there is no GPU with number " + std::to_string(*number) + "; there are "
                + std::to_string(count));
    std::vector<std::unique_ptr<Gpu>> out;
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
        if (number && *number != i)
            continue;
        cudaDeviceProp facts{};
        SHARDSCOPE_CHECK(check(cudaGetDeviceProperties(&facts, static_cast<int>(i)), "no answer from a GPU"));
        out.push_back(std::make_unique<CudaGpu>(i, facts.name));
    }
    return out;
}

} // namespace shardscope::compute
