// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/shared_files.h"

#include <algorithm>

namespace shardscope {
namespace {

template <class T>
void remember(std::vector<T>& list, T one, size_t most)
{
    if (list.size() >= most)
        list.erase(list.begin());
    list.push_back(std::move(one));
}

} // namespace

Result<std::optional<ZipDirectory>> SharedFiles::findDirectory(
    const io::ReadFile& file, JobContext& job) const
{
    std::vector<Known> all;
    {
        const std::lock_guard lock(m_mutex);
        all = m_known;
    }
    for (const Known& known : all) {
        SHARDSCOPE_TRY(std::optional<ZipDirectory> same, known.image->match(file, job));
        if (same)
            return same;
    }
    return std::optional<ZipDirectory>();
}

bool SharedFiles::fits(const ZipDirectory& zip, const Storages& storages) const
{
    const std::lock_guard lock(m_mutex);
    return std::any_of(m_known.begin(), m_known.end(), [&](const Known& known) {
        return known.fitting == storages && known.image->directory().sharesRecordsWith(zip);
    });
}

bool SharedFiles::wantsImage(const io::ReadFile& file, const ZipDirectory& zip)
{
    const std::lock_guard lock(m_mutex);
    const bool known = std::any_of(m_known.begin(), m_known.end(), [&](const Known& one) {
        const DirectoryImage& image = *one.image;
        return image.fileBytes() == file.size() && image.directory().prefix().size() == zip.prefix().size();
    });
    if (known)
        return false;
    if (std::find(m_sizes.begin(), m_sizes.end(), file.size()) != m_sizes.end())
        return true;
    remember(m_sizes, file.size(), 2 * kRemembered);
    return false;
}

Status SharedFiles::accept(
    const io::ReadFile& file, const ZipDirectory& zip, const Storages& fitting, JobContext& job)
{
    if (!wantsImage(file, zip))
        return {};
    SHARDSCOPE_TRY(auto image, DirectoryImage::read(file, zip.withSameRecords(zip.prefix(), {}), job));
    const std::lock_guard lock(m_mutex);
    if (image)
        remember(m_known, Known{std::move(image), fitting}, kRemembered);
    return {};
}

} // namespace shardscope
