// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/pickle/shared_pickles.h"
#include "core/torchfile/zip/zip_directory_image.h"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace shardscope {

/// What files that are opened one after another have in common. Ranks above 0 of a ZeRO-3 checkpoint save
/// model files that differ in a few bytes: they are interpreted once, and compared with that afterwards.
/// Thread-safe.
class SharedFiles
{
public:
    SharedPickles pickles;

    /// The directory of `file` where it equals that of a file that was accepted before, names of folders and
    /// checksums aside.
    Result<std::optional<ZipDirectory>> findDirectory(const io::ReadFile& file, JobContext& job) const;

    using Storages = std::shared_ptr<const std::vector<StorageView>>;
    /// Whether these storages are known to fit these records, without any doubt.
    [[nodiscard]] bool fits(const ZipDirectory& zip, const Storages& storages) const;
    /// Remembers the directory of a file that was accepted as a whole, from the second file of its size on.
    /// `fitting`: its storages where they fit without doubt, else null.
    Status accept(
        const io::ReadFile& file, const ZipDirectory& zip, const Storages& fitting, JobContext& job);

private:
    /// Names of ranks have one to four digits, which leads to as many sizes of files, one after another.
    static constexpr size_t kRemembered = 2;

    struct Known {
        std::shared_ptr<const DirectoryImage> image;
        Storages fitting;
    };
    [[nodiscard]] bool wantsImage(const io::ReadFile& file, const ZipDirectory& zip);

    mutable std::mutex m_mutex;
    std::vector<Known> m_known; ///< oldest first
    std::vector<uint64_t> m_sizes; ///< of files seen, oldest first
};

} // namespace shardscope
