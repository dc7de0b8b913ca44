// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/objects: object stores. Their paths (object_path.h), the questions to one (object_store.h), as S3
// takes them (s3/), and their objects as a FileSystem. Start with objectsAndOwnFiles().

#include "core/io/forwarding_file_system.h"
#include "core/objects/object_store.h"

#include <memory>

namespace shardscope::objects {

/// The files of `own`, and objects under `s3://BUCKET/KEY`, read only: what writes is Unsupported.
/// Thread-safe. Settings are read, and the store is asked, when a path first needs it.
///
/// A folder is a common prefix of keys; where an object has its name, that is there in its place. A listing
/// is known for half a minute: what it shows is opened without a further question. An object is the version
/// that was opened: each read names its ETag, and another one is SourceChanged. Ranges of many objects are
/// under way at once. `s3://` can be listed, for its buckets, and nothing else. Errors are those of
/// ObjectStore and openObjectStore().
class ObjectFiles final : public io::ForwardingFileSystem
{
public:
    ObjectFiles(io::FileSystem& own, Environment environment);
    ~ObjectFiles() override;
    ObjectFiles(const ObjectFiles&) = delete;
    ObjectFiles& operator=(const ObjectFiles&) = delete;

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
    Result<std::unique_ptr<io::FileLock>> lock(const io::Path& path, io::LockKind kind) override;

    [[nodiscard]] StoreTraffic traffic() const;
    /// Ends every wait of stores that are asked from now on.
    void setStop(std::stop_token stop);

private:
    Status beforeWrite(const io::Path& path, const io::Path* further) override;

    class Known;
    std::unique_ptr<Known> m_known;
};

/// One instance for the process.
ObjectFiles& objectsAndOwnFiles();

} // namespace shardscope::objects
