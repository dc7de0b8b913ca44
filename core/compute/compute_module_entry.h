// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compute/compute_modules.h"

#include <cstddef>
#include <string>

/// What a compute module exports. Program and module are built together; the stamp distinguishes builds
/// before anything else is shared.
namespace shardscope::compute {

inline constexpr const char* kStampSymbol = "shardscopeComputeStamp";
inline constexpr const char* kMakeSymbol = "shardscopeMakeBackend";

/// Changes with the compiler and with the shape of what is shared.
inline const char* stamp()
{
    static const std::string kStamp = std::string("2 ") + __VERSION__ + ' '
        + std::to_string(sizeof(Statistics)) + ' ' + std::to_string(sizeof(Comparison)) + ' '
        + std::to_string(sizeof(ElementSum)) + ' ' + std::to_string(sizeof(ElementCast)) + ' '
        + std::to_string(sizeof(ValueHistogram)) + ' ' + std::to_string(sizeof(CudaRequest));
    return kStamp.c_str();
}

using StampFunction = const char* (*)();
/// A new backend, or null with the reason in `why`. Does not throw.
using MakeFunction = const ComputeBackend* (*)(const CudaRequest& request, std::string& why);

} // namespace shardscope::compute

/// Defines the exported functions of a module, once: `Make` is a MakeFunction.
#define SHARDSCOPE_COMPUTE_MODULE(Make)                                                                      \
    extern "C" [[gnu::visibility("default")]] const char* shardscopeComputeStamp()                           \
    {                                                                                                        \
        return shardscope::compute::stamp();                                                                 \
    }                                                                                                        \
    extern "C" [[gnu::visibility("default")]] const shardscope::ComputeBackend* shardscopeMakeBackend(       \
        const shardscope::CudaRequest& request, std::string& why)                                            \
    {                                                                                                        \
        return Make(request, why);                                                                           \
    }
