// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>

namespace shardscope {

namespace {

/// ".zip", in any case.
bool mayBeSkeleton(const io::Path& name)
{
    constexpr std::string_view kEnding = ".zip";
    const std::string text = name.string();
    if (text.size() <= kEnding.size())
        return false;
    return std::equal(kEnding.begin(), kEnding.end(), text.end() - static_cast<ptrdiff_t>(kEnding.size()),
        [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b); });
}

} // namespace

bool SkeletonFiles::isInSkeleton(const io::Path& path)
{
    const auto place = placeOf(path);
    return place && place->has_value();
}

Result<std::optional<SkeletonFiles::Place>> SkeletonFiles::placeOf(const io::Path& path)
{
    // The paths above it as they are spelled: joined again, `s3://bucket` would lose a slash.
    std::vector<io::Path> places;
    for (io::Path at = path; at.has_relative_path() && (places.empty() || at != places.back());
         at = at.parent_path())
        places.push_back(at);
    for (auto at = places.rbegin(); at != places.rend(); ++at) {
        if (!mayBeSkeleton(at->filename()))
            continue;
        SHARDSCOPE_TRY(auto archive, archiveAt(*at));
        if (!archive)
            continue;
        std::string text = path.lexically_relative(*at).lexically_normal().generic_string();
        while (text.ends_with('/'))
            text.pop_back();
        return std::optional(Place{std::move(archive), std::move(*at), text == "." ? std::string() : text});
    }
    return std::optional<Place>();
}

Result<std::shared_ptr<SkeletonArchive>> SkeletonFiles::archiveAt(const io::Path& path)
{
    const std::lock_guard lock(m_mutex);
    const auto known = m_archives.find(path.string());
    const auto info = inner().stat(path);
    if (!info || info->type != io::FileType::Regular)
        return std::shared_ptr<SkeletonArchive>();
    if (known != m_archives.end() && known->second->identity() == info->identity)
        return known->second;
    if (!SkeletonArchive::isOne(inner(), path))
        return std::shared_ptr<SkeletonArchive>();
    SHARDSCOPE_TRY(auto archive, SkeletonArchive::read(inner(), path));
    m_archives[path.string()] = archive;
    return archive;
}

Status SkeletonFiles::beforeWrite(const io::Path& path, const io::Path* further)
{
    if (further != nullptr)
        SHARDSCOPE_CHECK(SkeletonFiles::beforeWrite(*further, nullptr));
    SHARDSCOPE_TRY(const auto folder, placeOf(path.parent_path()));
    if (folder)
        return fail(ErrorCode::NoPermission, "a skeleton is read-only", path.string());
    return {};
}

Result<std::unique_ptr<io::ReadFile>> SkeletonFiles::openRead(const io::Path& path)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    return place ? place->archive->openRead(place->path, path) : inner().openRead(path);
}

Result<std::string> SkeletonFiles::readSmall(const io::Path& path, uint64_t limitBytes)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    if (!place)
        return inner().readSmall(path, limitBytes);
    SHARDSCOPE_TRY(const auto file, place->archive->openRead(place->path, path));
    if (file->size() > limitBytes)
        return fail(ErrorCode::LimitExceeded,
            "the file has more than " + std::to_string(limitBytes) + " bytes", path.string());
    std::string out(file->size(), '\0');
    SHARDSCOPE_CHECK(file->readAt(0, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
    return out;
}

Result<io::FileInfo> SkeletonFiles::stat(const io::Path& path)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    return place ? place->archive->stat(place->path) : inner().stat(path);
}

Result<std::vector<io::DirectoryEntry>> SkeletonFiles::list(const io::Path& path)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    return place ? place->archive->list(place->path) : inner().list(path);
}

Result<io::Path> SkeletonFiles::canonical(const io::Path& path)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    if (!place)
        return inner().canonical(path);
    // The name stays, also that of a link: its ending identifies a skeleton.
    const io::Path folder = place->file.parent_path();
    SHARDSCOPE_TRY(io::Path file, inner().canonical(folder.empty() ? io::Path(".") : folder));
    file /= place->file.filename();
    const std::string& inside = place->path.empty() ? place->archive->index().open : place->path;
    SHARDSCOPE_CHECK(place->archive->stat(inside));
    return inside.empty() ? file : file / inside;
}

Result<io::Space> SkeletonFiles::space(const io::Path& path)
{
    SHARDSCOPE_TRY(const auto place, placeOf(path));
    return inner().space(place ? place->file : path);
}

bool SkeletonFiles::canShareBytes(const io::Path& file, const io::Path& folder)
{
    return !isInSkeleton(file) && !isInSkeleton(folder) && inner().canShareBytes(file, folder);
}

bool SkeletonFiles::mayHoldSkeleton(std::span<const io::Path> paths)
{
    return std::ranges::any_of(paths, [](const io::Path& path) {
        return std::ranges::any_of(path, [](const io::Path& part) { return mayBeSkeleton(part); });
    });
}

std::vector<SkeletonFiles::Opened> SkeletonFiles::openReadAll(std::span<const io::Path> paths)
{
    return mayHoldSkeleton(paths) ? FileSystem::openReadAll(paths) : inner().openReadAll(paths);
}

std::vector<Result<io::FileInfo>> SkeletonFiles::statAll(std::span<const io::Path> paths)
{
    return mayHoldSkeleton(paths) ? FileSystem::statAll(paths) : inner().statAll(paths);
}

std::vector<Status> SkeletonFiles::readAll(std::span<const io::ReadRange> ranges)
{
    return inner().readAll(ranges); // which takes files of others, too
}

std::vector<Status> SkeletonFiles::checkAllUnchanged(std::span<const io::ReadFile* const> files)
{
    return inner().checkAllUnchanged(files);
}

io::FileSystem& realFilesAndSkeletons()
{
    static SkeletonFiles files(io::realFileSystem());
    return files;
}

io::FileSystem& withoutSkeletons(io::FileSystem& files)
{
    auto* skeletons = dynamic_cast<SkeletonFiles*>(&files);
    return skeletons != nullptr ? skeletons->inner() : files;
}

bool holdsNoValues(io::FileSystem& files, const io::Path& path)
{
    auto* skeletons = dynamic_cast<SkeletonFiles*>(&files);
    return skeletons != nullptr && skeletons->isInSkeleton(path);
}

} // namespace shardscope
