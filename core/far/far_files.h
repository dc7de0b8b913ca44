// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/far: other hosts. Their paths (far_path.h), the connection to one (far_host.h), and their files
// as a FileSystem. Start with farAndOwnFiles().

#include "core/far/far_path.h"
#include "core/io/forwarding_file_system.h"

namespace shardscope::io {
class KeptRanges;
}

namespace shardscope::far {

/// The files of this machine, and those of others under far paths: read by `shardscope serve` over there.
/// Calls for many files or ranges are one question to each host, and hosts are asked side by side.
///
/// Short ranges that were read are read again from memory, for as long as opening the file gives the same
/// identity, whose times are at least 2 s old: whoever opens a file gets the bytes of that version or an
/// error. ReadFile::dropCache() forgets those of a file.
///
/// Nothing is written on another host: such calls are Unsupported. Thread-safe. Reading fails as on this
/// machine, and Unreadable, as an outage, where the connection is lost.
class FarFiles final : public io::ForwardingFileSystem
{
public:
    explicit FarFiles(io::FileSystem& own);

    Opened openRead(const io::Path& path) override;
    Result<std::string> readSmall(const io::Path& path, uint64_t limitBytes) override;
    std::vector<Opened> openReadAll(std::span<const io::Path> paths) override;
    std::vector<Result<io::FileInfo>> statAll(std::span<const io::Path> paths) override;
    std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override;
    std::vector<Status> checkAllUnchanged(std::span<const io::ReadFile* const> files) override;
    Result<io::FileInfo> stat(const io::Path& path) override;
    Result<std::vector<io::DirectoryEntry>> list(const io::Path& path) override;
    Result<io::Path> canonical(const io::Path& path) override;
    Result<io::Space> space(const io::Path& path) override;
    /// None on another host.
    Result<std::unique_ptr<io::FileLock>> lock(const io::Path& path, io::LockKind kind) override;

private:
    Status beforeWrite(const io::Path& path, const io::Path* further) override;

    std::shared_ptr<io::KeptRanges> m_kept; ///< of files that are open, too
};

/// One instance for the process, which reads object stores, too (core/objects).
io::FileSystem& farAndOwnFiles();

} // namespace shardscope::far
