// SPDX-License-Identifier: Apache-2.0
#include "core/compute/cuda/gpu_backend.h"

#include "core/compute/cuda/gpu_statistics.h"
#include "core/compute/cuda/gpu_transform.h"
#include "core/tensor/convert.h"

#include <algorithm>

namespace shardscope::compute {

Result<std::unique_ptr<GpuBackend>> GpuBackend::make(
    std::vector<std::unique_ptr<Gpu>> gpus, uint64_t memoryBytes, size_t lanes)
{
    auto pool = std::make_shared<Pool>();
    std::optional<Error> why;
    for (const auto& gpu : gpus) {
        for (size_t i = 0; i < lanes; ++i) {
            auto lane = GpuLane::make(*gpu, static_cast<size_t>(memoryBytes / lanes), pool->pinned);
            if (!lane) {
                why = std::move(lane).error();
                break;
            }
            pool->idle.push_back(std::move(*lane));
        }
    }
    if (pool->idle.empty())
        return fail(ErrorCode::Unsupported, why ? "no memory: " + why->message : "no GPU");
    if (why)
        pool->notes.push_back("less GPU memory is used than requested: " + why->message);
    pool->lanes = pool->idle.size();
    pool->gpus = std::move(gpus);
    return std::unique_ptr<GpuBackend>(new GpuBackend(std::move(pool)));
}

GpuBackend::GpuBackend(std::shared_ptr<Pool> pool)
    : m_pool(std::move(pool))
{
}

GpuBackend::~GpuBackend()
{
    m_pool->idle.clear(); // before their GPUs
}

/// A lane for one call.
class GpuBackend::LaneUse
{
public:
    explicit LaneUse(Pool& pool)
        : m_pool(pool)
    {
        std::unique_lock lock(pool.mutex);
        pool.freed.wait(lock, [&] { return !pool.idle.empty() || pool.lanes == 0; });
        if (pool.idle.empty())
            return;
        m_lane = std::move(pool.idle.back());
        pool.idle.pop_back();
    }
    LaneUse(const LaneUse&) = delete;
    LaneUse& operator=(const LaneUse&) = delete;
    ~LaneUse()
    {
        if (!m_lane)
            return;
        const std::lock_guard lock(m_pool.mutex);
        m_pool.idle.push_back(std::move(m_lane));
        m_pool.freed.notify_one();
    }

    [[nodiscard]] GpuLane* lane() const { return m_lane.get(); }
    /// The lane and those of its GPU that are idle are not used again; the others find out for themselves.
    void giveUp(const Error& error)
    {
        const Gpu* const gpu = &m_lane->gpu();
        const std::lock_guard lock(m_pool.mutex);
        m_lane.reset();
        const size_t gone = std::erase_if(m_pool.idle, [&](const auto& lane) { return &lane->gpu() == gpu; });
        m_pool.lanes -= gone + 1;
        const std::string note = gpu->name() + " (" + std::to_string(gpu->number())
            + ") failed, plain code continued: " + error.message;
        if (std::find(m_pool.notes.begin(), m_pool.notes.end(), note) == m_pool.notes.end())
            m_pool.notes.push_back(note);
        m_pool.freed.notify_all();
    }

private:
    Pool& m_pool;
    std::unique_ptr<GpuLane> m_lane;
};

template <class Work>
bool GpuBackend::onGpu(Work work) const
{
    LaneUse use(*m_pool);
    if (use.lane() == nullptr)
        return false;
    const Status status = work(*use.lane());
    if (!status)
        use.giveUp(status.error());
    return status.has_value();
}

Statistics GpuBackend::statistics(
    DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const
{
    Statistics out;
    ValueHistogram counted;
    const auto type = gpuFloat(dtype);
    const auto work = [&](GpuLane& lane) -> Status {
        SHARDSCOPE_TRY(out, gpuStatistics(lane, *type, bytes, histogram != nullptr ? &counted : nullptr));
        return {};
    };
    if (!type || bytes.size() < kMinCallBytes || !onGpu(work))
        return plainStatistics(dtype, bytes, histogram);
    if (histogram != nullptr)
        *histogram += counted;
    return out;
}

Comparison GpuBackend::comparison(
    const TypedBytes& left, const TypedBytes& right, uint64_t firstElement, const Tolerance& tolerance) const
{
    Comparison out;
    const size_t count = std::min(left.size(), right.size());
    const auto work = [&](GpuLane& lane) -> Status {
        SHARDSCOPE_TRY(
            out, gpuComparison(lane, left.part(0, count), right.part(0, count), firstElement, tolerance));
        return {};
    };
    if (!gpuFloat(left.dtype) || left.dtype != right.dtype || count * itemSize(left.dtype) < kMinCallBytes
        || !onGpu(work))
        return plainComparison(left, right, firstElement, tolerance);
    return out;
}

void GpuBackend::transform(std::span<const ElementCast> casts, std::span<ElementSum> sums) const
{
    size_t bytes = 0;
    std::vector<ElementCast> known;
    for (const ElementCast& cast : casts) {
        if (cast.from != cast.to && gpuFloat(cast.from) && gpuFloat(cast.to)) {
            known.push_back(cast);
            bytes += cast.in.size();
        } else {
            convertElements(cast.from, cast.in, cast.to, cast.out);
        }
    }
    bool words = true;
    for (ElementSum& sum : sums) {
        sum.digest = {};
        words = words && sum.itemBytes <= sizeof(uint64_t) && sum.key.version == DigestVersion::Two;
        bytes += sum.bytes.size();
    }
    const auto work = [&](GpuLane& lane) -> Status {
        return runUnits(lane, divideWork(known, sums, lane.capacity() / 2), sums);
    };
    if (words && bytes >= kMinCallBytes && onGpu(work))
        return;
    plainBackend().transform(known, sums);
}

std::string GpuBackend::device() const
{
    std::string out = "cuda:";
    for (const auto& gpu : m_pool->gpus)
        out += (out.back() == ':' ? "" : ",") + std::to_string(gpu->number());
    return out;
}

std::string GpuBackend::name() const
{
    std::string out;
    for (const auto& gpu : m_pool->gpus)
        out += (out.empty() ? "" : ", ") + gpu->name();
    return out;
}

HostMemory GpuBackend::hostMemory(size_t bytes) const
{
    Gpu& gpu = *m_pool->gpus.front();
    const auto data = gpu.allocateHost(bytes);
    if (!data)
        return ComputeBackend::hostMemory(bytes);
    m_pool->pinned.add(*data, bytes);
    return {*data, [pool = m_pool](uint8_t* memory) {
                pool->pinned.remove(memory);
                pool->gpus.front()->releaseHost(memory);
            }};
}

std::vector<std::string> GpuBackend::notes() const
{
    const std::lock_guard lock(m_pool->mutex);
    return m_pool->notes;
}

} // namespace shardscope::compute
