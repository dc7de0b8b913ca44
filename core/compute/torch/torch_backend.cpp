// SPDX-License-Identifier: Apache-2.0
// LibTorch on the CPU behind ComputeBackend: a module of its own, because LibTorch takes a third of a second
// and 140 MB to load.
#include "core/compute/compute_module_entry.h"
#include "core/compute/torch/operations.h"
#include "core/compute/torch/tensors.h"
#include "core/tensor/convert.h"

#include <ATen/Parallel.h>

#include <mutex>

namespace shardscope::compute {

namespace {

class TorchBackend final : public ComputeBackend
{
public:
    Statistics statistics(
        DType dtype, std::span<const uint8_t> bytes, ValueHistogram* histogram) const override
    {
        if (!torchHasStatistics(dtype))
            return plainStatistics(dtype, bytes, histogram);
        ValueHistogram counted; // so that a failed pass counts nothing
        return guarded(
            [&] {
                const Statistics out
                    = torchStatistics(dtype, bytes, histogram != nullptr ? &counted : nullptr);
                if (histogram != nullptr)
                    *histogram += counted;
                return out;
            },
            [&] { return plainStatistics(dtype, bytes, histogram); });
    }

    Comparison comparison(const TypedBytes& left, const TypedBytes& right, uint64_t firstElement,
        const Tolerance& tolerance) const override
    {
        const auto plainly = [&] { return plainComparison(left, right, firstElement, tolerance); };
        if (!torchCanCompare(left.dtype, right.dtype))
            return plainly();
        return guarded([&] { return torchComparison(left, right, firstElement, tolerance); }, plainly);
    }

    void transform(std::span<const ElementCast> casts, std::span<ElementSum> sums) const override
    {
        for (const ElementCast& cast : casts) {
            const auto plainly = [&] { convertElements(cast.from, cast.in, cast.to, cast.out); };
            if (cast.from == cast.to || !torchCanConvert(cast.from, cast.to))
                plainly();
            else
                guarded([&] { torchConvert(cast); }, plainly);
        }
        for (ElementSum& sum : sums)
            sum.digest = plainSum(sum); // LibTorch has no arithmetic of 64 bits without sign
    }

    std::string device() const override { return "cpu"; }
    std::string name() const override { return "LibTorch " TORCH_VERSION; }
    size_t batchBytes() const override { return size_t{1} << 20; }

    std::vector<std::string> notes() const override
    {
        const std::lock_guard lock(m_mutex);
        return m_failure.empty() ? std::vector<std::string>() : std::vector{m_failure};
    }

private:
    /// Most likely memory: the plain code needs less of it.
    template <class Call, class Instead>
    auto guarded(Call call, Instead instead) const -> decltype(call())
    {
        try {
            const c10::InferenceMode inference;
            return call();
        } catch (const std::exception& error) {
            const std::lock_guard lock(m_mutex);
            if (m_failure.empty())
                m_failure = "LibTorch failed, plain code continued: " + std::string(error.what());
        }
        return instead();
    }

    mutable std::mutex m_mutex;
    mutable std::string m_failure;
};

const ComputeBackend* makeTorchBackend(const CudaRequest& /*request*/, std::string& why)
{
    try {
        at::set_num_threads(1); // callers bring their own
        return new TorchBackend;
    } catch (const std::exception& error) {
        why = error.what();
        return nullptr;
    }
}

} // namespace

} // namespace shardscope::compute

SHARDSCOPE_COMPUTE_MODULE(shardscope::compute::makeTorchBackend)
