// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/errno_error.h"
#include "core/io/forwarding_file_system.h"

#include <atomic>
#include <functional>

namespace shardscope::io {

/// Passes every call on to another FileSystem and makes call number N fail with a given errno; for tests.
///
/// Calls are counted over all files and threads, reads and writes alike, in the order they start. The n-th
/// counted call fails without doing anything; a failing writeAt may first write half (`tornWrites`), as a
/// full disk does.
class FaultingFileSystem : public ForwardingFileSystem
{
public:
    struct Fault {
        uint64_t callNumber = 0; ///< 1-based; 0 = never
        int errnoValue = 5; ///< EIO
        bool repeat = false; ///< this and every later call fails, as after a disconnect
        bool tornWrites = false;
        bool kills = false; ///< the process dies by SIGKILL when the call starts
    };

    /// Never fails: it only counts.
    explicit FaultingFileSystem(FileSystem& inner);
    FaultingFileSystem(FileSystem& inner, Fault fault);

    [[nodiscard]] uint64_t callsSoFar() const { return m_calls.load(); }
    [[nodiscard]] bool faultWasHit() const { return m_hit.load(); }

    Result<std::unique_ptr<ReadFile>> openRead(const Path& path) override;
    Result<std::unique_ptr<WriteFile>> create(const Path& path, uint32_t mode) override;
    Result<std::unique_ptr<WriteFile>> openShared(const Path& path, uint32_t mode) override;
    Status appendSynced(const Path& path, std::string_view text) override;

    /// Counts one call; the errno to fail with, or 0. For the files it hands out.
    int nextCall();
    [[nodiscard]] bool tornWrites() const { return m_fault.tornWrites; }

private:
    Status beforeRead(const Path& path) override;
    Status beforeWrite(const Path& path, const Path* further) override;

    Fault m_fault;
    std::atomic<uint64_t> m_calls = 0;
    std::atomic<bool> m_hit = false;
};

} // namespace shardscope::io
