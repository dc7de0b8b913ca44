// SPDX-License-Identifier: Apache-2.0

// Folder core/peers/mpi: the module that links an MPI library, built once for each of them. Start with
// shardscopeMpiBegin().
#include "core/peers/mpi_entry.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

/// MPI counts with int.
constexpr uint64_t kCallLimit = uint64_t{1} << 30;

/// Waits without keeping a processor busy, as MPI's own waiting does: other processes need it meanwhile.
int wait(MPI_Request& request)
{
    auto pause = std::chrono::microseconds(20);
    for (;;) {
        int isDone = 0;
        if (const int error = MPI_Test(&request, &isDone, MPI_STATUS_IGNORE); error != MPI_SUCCESS)
            return error;
        if (isDone != 0)
            return 0;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(5000));
    }
}

/// Passes all bytes, as many at a time as MPI can count. `start` begins one call.
template <class Byte, class Start>
int pass(Byte* at, uint64_t count, Start start)
{
    while (count > 0) {
        const uint64_t part = std::min(count, kCallLimit);
        MPI_Request request{};
        int error = start(at, static_cast<int>(part), &request);
        if (error == MPI_SUCCESS)
            error = wait(request);
        if (error != MPI_SUCCESS)
            return error;
        at += part;
        count -= part;
    }
    return 0;
}

int send(uint32_t to, const void* bytes, uint64_t count)
{
    return pass(static_cast<const char*>(bytes), count, [to](const char* at, int part, MPI_Request* request) {
        return MPI_Isend(at, part, MPI_BYTE, static_cast<int>(to), 0, MPI_COMM_WORLD, request);
    });
}

int receive(uint32_t from, void* bytes, uint64_t count)
{
    return pass(static_cast<char*>(bytes), count, [from](char* at, int part, MPI_Request* request) {
        return MPI_Irecv(at, part, MPI_BYTE, static_cast<int>(from), 0, MPI_COMM_WORLD, request);
    });
}

void errorText(int error, char* text, size_t bytes)
{
    std::array<char, MPI_MAX_ERROR_STRING> all{};
    int length = 0;
    MPI_Error_string(error, all.data(), &length);
    std::snprintf(text, bytes, "%s", all.data());
}

void end()
{
    MPI_Finalize();
}

} // namespace

extern "C" [[gnu::visibility("default")]] const ShardscopeMpi* shardscopeMpiBegin(char* why, size_t whyBytes)
{
    int provided = 0;
    int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0;
    int size = 0;
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (error != MPI_SUCCESS) {
        errorText(error, why, whyBytes);
        return nullptr;
    }
    static std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
    int length = 0;
    MPI_Get_library_version(library.data(), &length);
    std::ranges::replace(library, '\n', ' ');
    static ShardscopeMpi mpi{};
    mpi = {kShardscopeMpiVersion, static_cast<uint32_t>(rank), static_cast<uint32_t>(size), library.data(),
        send, receive, errorText, end};
    return &mpi;
}
