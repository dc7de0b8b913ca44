// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/compute/compute_backend.h"
#include "core/compute/compute_modules.h"
#include "core/io/file_system.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A backend and why it is this one, in words for reports. Copies share the backend.
struct ComputeChoice {
    /// The plain backend; nothing was to be chosen.
    ComputeChoice();

    std::shared_ptr<const ComputeBackend> backend; ///< never null
    std::string reason; ///< "asked for"; empty where nothing was to be chosen
};

/// The facts for a report, once the work is done.
struct ComputeReport {
    std::string device; ///< ComputeBackend::device()
    std::string by; ///< ComputeBackend::name()
    std::string reason;
    std::vector<std::string> notes;
};
ComputeReport reportOf(const ComputeChoice& choice);

/// The value of `--device`.
struct DeviceAsked {
    enum class Kind {
        Auto, ///< whatever is fastest
        Cpu, ///< whatever is fastest on the CPU
        Plain,
        Torch,
        Cuda,
    };
    Kind kind = Kind::Auto;
    CudaRequest cuda;
};
/// "auto", "cpu", "cpu:plain", "cpu:torch", "cuda", "cuda:I". Usage for anything else.
Result<DeviceAsked> parseDevice(std::string_view text);

/// The main part of the work.
enum class ComputeTask { Transform, Statistics, Comparison };

struct ComputeNeed {
    ComputeTask task = ComputeTask::Transform;
    uint64_t bytes = 0; ///< that the backend will be given
    unsigned jobs = 1; ///< threads that call it at once
};

/// Below this many bytes only plain code is used: loading a module and measuring take longer than the work.
inline constexpr uint64_t kWorthMeasuring = uint64_t{2} << 30;

/// Where figures are kept by default: shardscope/compute.txt of the user's cache; empty where the user has
/// none.
io::Path userRateMemory();

/// Finds the backend. Unsupported where a backend was requested explicitly and is not available. Else each
/// available backend that loads sooner than the work ends elsewhere does a short piece of it, and the one
/// with the shortest total time is used. The figures are kept in the file `memory` (empty: not kept) until
/// the modules or the number of threads change. Takes up to two seconds when it measures.
Result<ComputeChoice> chooseCompute(
    const DeviceAsked& asked, const ComputeNeed& need, io::FileSystem& files, const io::Path& memory);

} // namespace shardscope
