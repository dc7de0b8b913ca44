// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/base/parallel.h"
#include "core/io/file_system.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace shardscope {

/// Who takes a lease, and how long it lasts without a renewal.
struct LeaseOptions {
    std::string machine = {}; ///< differs between machines and between boots of one; empty: this one
    std::string host = {}; ///< its name, for people; empty: this one
    std::chrono::milliseconds renewal = std::chrono::seconds(10);
    std::chrono::milliseconds expiry = std::chrono::seconds(60);
};

/// The right of one process to work in a folder that several machines share, where a kernel's lock may hold
/// on one of them only.
///
/// FOLDER/lease/N, with N rising: the highest one counts. A file is created exclusively, names its holder,
/// grows with every renewal, and ends with a word once it was given back. Nobody compares clocks: another
/// machine's lease has expired when its file was seen not to grow for the time of the expiry. A process that
/// was stopped for longer learns from check() that it has lost its lease. What it writes until then does no
/// harm, as all processes write the same bytes.
class Lease
{
public:
    /// Takes it, after waiting for the expiry of another machine's lease where needed. `isLocked`: this
    /// process holds a lock that excludes the others of this machine, so that their leases have ended.
    /// Busy if the holder lives; Cancelled; WriteFailed without a thread to renew it.
    static Result<std::unique_ptr<Lease>> take(io::FileSystem& files, const io::Path& folder, bool isLocked,
        const LeaseOptions& options, JobContext& job);
    /// Waits until nobody has the lease of a folder, as take() does. Busy if its holder lives; Cancelled.
    static Status waitUntilFree(io::FileSystem& files, const io::Path& folder, bool isLocked,
        const LeaseOptions& options, JobContext& job);
    /// Gives it back.
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    /// Busy if another process has taken the folder over. Thread-safe.
    [[nodiscard]] Status check() const;
    /// Writes nothing any more: the folder is about to be removed.
    void forget();

    /// The host that holds a folder's lease, as far as one look can tell: not given back, and renewed in the
    /// last minutes by the clock of this machine. `isLocked` as in take(). Empty: nobody.
    static std::string holder(
        io::FileSystem& files, const io::Path& folder, bool isLocked, const LeaseOptions& options = {});

private:
    Lease(io::FileSystem& files, const io::Path& folder, uint64_t number, std::string header,
        std::chrono::milliseconds renewal);
    void renew();
    bool stopRenewing();

    io::FileSystem& m_files;
    io::Path m_file;
    io::Path m_next; ///< the file of a process that takes over
    std::string m_header; ///< of m_file
    std::chrono::milliseconds m_renewal;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    bool m_ends = false;
    Thread m_renewer;
};

/// The folder of a work folder that has its leases.
inline constexpr const char* kLeaseFolder = "lease";

} // namespace shardscope
