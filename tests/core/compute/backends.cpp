// SPDX-License-Identifier: Apache-2.0
#include "tests/core/compute/backends.h"

#include "core/compute/cuda/gpu_backend.h"
#include "core/tensor/convert.h"
#include "tests/core/compute/host_gpu.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace shardscope::test {

namespace {

std::vector<BackendPtr> load()
{
    std::vector<BackendPtr> out;
    const auto take = [&](const char* what, Result<BackendPtr> loaded) {
        if (loaded)
            out.push_back(*loaded);
        else
            std::fprintf(stderr, "skipped: %s: %s\n", what, loaded.error().message.c_str());
    };
    take("LibTorch", loadTorchBackend());
    take("CUDA", loadCudaBackend({}));
    std::vector<std::unique_ptr<compute::Gpu>> gpus;
    gpus.push_back(makeHostGpu(0, std::make_shared<HostGpuPlan>()));
    if (auto twin = compute::GpuBackend::make(std::move(gpus), uint64_t{64} << 20, 2))
        out.push_back(std::move(*twin));
    return out;
}

/// Values at which rounding, range and classes change, around them, and their opposites.
std::vector<uint32_t> specialFloats()
{
    std::vector<uint32_t> out;
    for (uint32_t exponent = 0; exponent <= 255; ++exponent) {
        for (const uint32_t mantissa : {0u, 1u, 2u, 0x1000u, 0x0FFFu, 0x1001u, 0x2000u, 0x3000u, 0x7FFFu,
                 0x8000u, 0x8001u, 0x18000u, 0x7FFFFu, 0x80000u, 0x80001u, 0x180000u, 0xFFFFFu, 0x100000u,
                 0x100001u, 0x300000u, 0x400000u, 0x7FFFFFu, 0x600000u, 0x700000u, 0x5A5A5Au}) {
            out.push_back(exponent << 23 | mantissa);
            out.push_back(exponent << 23 | mantissa | 0x80000000u);
        }
    }
    return out;
}

} // namespace

const std::vector<BackendPtr>& moduleBackends()
{
    static const std::vector<BackendPtr> kBackends = load();
    return kBackends;
}

bool wasBuilt(const std::string& module)
{
    return std::string(" " SHARDSCOPE_BUILT_MODULES).find(' ' + module + ' ') != std::string::npos;
}

std::vector<uint8_t> patterns(DType dtype, std::mt19937_64& random)
{
    const size_t item = itemSize(dtype);
    std::vector<uint8_t> out;
    if (item <= 2) {
        const uint32_t all = item == 1 ? 256 : 65536;
        for (uint32_t bits = 0; bits < all; ++bits) {
            for (size_t byte = 0; byte < item; ++byte)
                out.push_back(static_cast<uint8_t>(bits >> 8 * byte));
        }
        return out;
    }
    for (const uint32_t bits : specialFloats()) {
        out.resize(out.size() + item);
        uint8_t* at = out.data() + out.size() - item;
        if (dtype == DType::Float64) {
            const double wide = std::bit_cast<float>(bits);
            std::memcpy(at, &wide, sizeof wide);
        } else {
            std::memcpy(at, &bits, sizeof bits);
            if (item == 8)
                std::memcpy(at + 4, &bits, sizeof bits);
        }
    }
    while (out.size() < 100000 * item)
        out.push_back(static_cast<uint8_t>(random()));
    return out;
}

std::vector<uint8_t> normalElements(DType dtype, size_t count, std::mt19937_64& random)
{
    std::normal_distribution<double> normal(0.01, 0.5);
    std::vector<double> values(count);
    for (double& value : values)
        value = normal(random);
    std::vector<uint8_t> out(count * itemSize(dtype));
    if (canConvert(DType::Float64, dtype)) {
        convertElements(DType::Float64, bytesOf(values), dtype, out);
    } else {
        for (uint8_t& byte : out)
            byte = static_cast<uint8_t>(random());
    }
    return out;
}

} // namespace shardscope::test
