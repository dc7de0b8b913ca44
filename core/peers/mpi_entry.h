// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What a module of core/peers/mpi exports, in C: a program and a module need not be built together.
extern "C" {

struct ShardscopeMpi {
    uint32_t version; ///< kShardscopeMpiVersion
    uint32_t rank;
    uint32_t size;
    const char* library; ///< "Open MPI v4.1.4 …"
    /// Block until the other process has taken, or sent, all bytes. 0, or MPI's error.
    int (*send)(uint32_t to, const void* bytes, uint64_t count);
    int (*receive)(uint32_t from, void* bytes, uint64_t count);
    /// The text of an error, into `text`.
    void (*errorText)(int error, char* text, size_t bytes);
    void (*end)(); ///< MPI_Finalize
};

/// Joins the job. Null if that fails, with the reason in `why`.
using ShardscopeMpiBegin = const ShardscopeMpi* (*)(char* why, size_t whyBytes);
}

inline constexpr uint32_t kShardscopeMpiVersion = 1;
inline constexpr const char* kShardscopeMpiSymbol = "shardscopeMpiBegin";
