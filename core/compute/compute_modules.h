// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/compute/compute_backend.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// The resources for a CUDA backend.
struct CudaRequest {
    std::optional<uint32_t> gpu; ///< by number, from 0; absent: all
    uint64_t memoryBytes = uint64_t{512} << 20; ///< max. memory on each GPU; at least 32 MiB
};

/// The backends of shared modules. They are loaded only here, so that a program that does not request them
/// does not depend on LibTorch or CUDA. A module is searched in the folder that the environment variable
/// SHARDSCOPE_COMPUTE_DIR names, else in lib/shardscope next to the folder of the running program, or one
/// level up. It is loaded once per process and stays loaded. Thread-safe.
///
/// Unsupported, with what is missing in words, where the module is not there, cannot be loaded, is of another
/// build, or finds no device.
inline constexpr const char* kTorchModule = "shardscope_torch.so";
inline constexpr const char* kCudaModule = "shardscope_cuda.so";
/// Where modules are looked for, the first place first.
std::vector<io::Path> computeModuleFolders();
/// Why this module must not be loaded, because somebody else could have written it: the file, its folder or
/// one of the two above (the root of the installation) belongs to neither root, nor this user, nor the owner
/// of the program, or can be written by others. Empty if it may be loaded.
std::string whyNotTrusted(const io::Path& module);
/// Whether the program can load modules. The static program cannot: it has no dynamic linker.
bool canLoadModules();
Result<std::shared_ptr<const ComputeBackend>> loadTorchBackend();
Result<std::shared_ptr<const ComputeBackend>> loadCudaBackend(const CudaRequest& request);

/// Whether a backend can be used here.
struct ComputeModuleState {
    std::string_view device; ///< as --device spells it
    std::string_view file;
    std::string whyNot; ///< empty if it loads and finds a device
};
/// Tries every module. Loading LibTorch takes seconds.
std::vector<ComputeModuleState> computeModuleStates();

} // namespace shardscope
