// SPDX-License-Identifier: Apache-2.0
// CUDA behind ComputeBackend: a module of its own with the CUDA runtime in it, so that it needs the GPU's
// driver and nothing else. It does not use LibTorch: the kernels are our own, and LibTorch's CUDA libraries
// take half a gigabyte of memory and seconds to load.
#include "core/compute/compute_module_entry.h"
#include "core/compute/cuda/cuda_gpu.h"
#include "core/compute/cuda/gpu_backend.h"

namespace shardscope::compute {

namespace {

const ComputeBackend* makeCudaBackend(const CudaRequest& request, std::string& why)
{
    auto gpus = findGpus(request.gpu);
    if (!gpus) {
        why = gpus.error().message;
        return nullptr;
    }
    auto backend = GpuBackend::make(std::move(*gpus), request.memoryBytes);
    if (!backend) {
        why = backend.error().message;
        return nullptr;
    }
    return backend->release();
}

} // namespace

} // namespace shardscope::compute

SHARDSCOPE_COMPUTE_MODULE(shardscope::compute::makeCudaBackend)
