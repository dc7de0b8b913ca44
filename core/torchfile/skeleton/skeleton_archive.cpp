// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/skeleton/skeleton_archive.h"

#include "core/torchfile/zip/zip_format.h"

#include <algorithm>
#include <array>
#include <set>

namespace shardscope {

namespace {

constexpr uint32_t kFolderMode = 0555;
constexpr uint32_t kFileMode = 0444;

/// How a file of the archive appears.
struct ShownFile {
    io::Path path;
    io::FileIdentity identity;
};

class SkeletonReadFile final : public io::ReadFile
{
public:
    SkeletonReadFile(std::shared_ptr<const SkeletonArchive> archive, const SkeletonFile& file,
        std::shared_ptr<const std::string> bytes, std::shared_ptr<const io::ReadFile> whole, ShownFile shown)
        : m_archive(std::move(archive))
        , m_described(file)
        , m_places(placesOf(file.kept))
        , m_bytes(std::move(bytes))
        , m_whole(std::move(whole))
        , m_path(std::move(shown.path))
        , m_identity(shown.identity)
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_described.bytes; }
    [[nodiscard]] const io::Path& path() const override { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const override { return m_identity; }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        if (offset > size() || out.size() > size() - offset)
            return fail(ErrorCode::Damaged,
                "the file ends at byte " + std::to_string(size()) + ", before byte " + std::to_string(offset)
                    + " + " + std::to_string(out.size()),
                m_path.string());
        if (!out.empty() && !readKept(m_described.kept, m_places, *m_bytes, offset, out))
            return fail(ErrorCode::Unsupported, std::string(kNoValues), m_path.string(),
                "the values are only in the checkpoint that the skeleton was made from");
        return {};
    }
    void dropCache(uint64_t /*offset*/, uint64_t /*bytes*/) const override { }
    Status checkUnchanged() const override { return m_whole->checkUnchanged(); }

private:
    std::shared_ptr<const SkeletonArchive> m_archive; ///< owns what is described
    const SkeletonFile& m_described;
    std::vector<uint64_t> m_places;
    std::shared_ptr<const std::string> m_bytes;
    std::shared_ptr<const io::ReadFile> m_whole;
    io::Path m_path;
    io::FileIdentity m_identity;
};

tl::unexpected<Error> about(Error error, const io::Path& path)
{
    error.path = path.string() + (error.path.empty() || error.path == path ? "" : "/" + error.path);
    return forward(std::move(error));
}

/// The whole record of `zip` with a name.
Result<std::string> recordText(
    const io::ReadFile& file, const ZipDirectory& zip, std::string_view name, uint64_t limit)
{
    const auto found = zip.find(name);
    if (!found)
        return fail(ErrorCode::Damaged, "the skeleton does not have the record '" + std::string(name) + "'");
    return readRecord(file, zip.record(*found), limit);
}

} // namespace

bool SkeletonArchive::isOne(io::FileSystem& files, const io::Path& path)
{
    static const std::string kName = std::string(kSkeletonPrefix) + "/" + std::string(kSkeletonAbout);
    const auto info = files.stat(path); // first: opening may wait, as for a pipe
    if (!info || info->type != io::FileType::Regular)
        return false;
    const auto file = files.openRead(path);
    std::array<uint8_t, zip::kLocalBytes + 64> head{};
    if (!file || (*file)->size() < head.size() || !(*file)->readAt(0, head))
        return false;
    return zip::get32(head.data()) == zip::kLocalSignature && zip::get16(head.data() + 26) == kName.size()
        && std::equal(kName.begin(), kName.end(), head.begin() + zip::kLocalBytes,
            [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Result<std::shared_ptr<SkeletonArchive>> SkeletonArchive::read(io::FileSystem& files, const io::Path& path)
{
    auto out = std::make_shared<SkeletonArchive>();
    out->m_path = path;
    SHARDSCOPE_TRY(out->m_file, files.openRead(path));
    JobContext job;
    auto zip = ZipDirectory::read(*out->m_file, ReadMode::Tolerant, job);
    if (!zip)
        return about(std::move(zip).error(), path);
    if (zip->isRecovered())
        return fail(ErrorCode::Damaged, "the skeleton is truncated: its directory is missing", path.string(),
            "copy it again from where it was made");
    out->m_zip = std::move(*zip);
    const auto text = recordText(*out->m_file, out->m_zip, kSkeletonIndex, kMaxIndexBytes);
    if (!text)
        return about(text.error(), path);
    auto index = parseSkeletonIndex(*text);
    if (!index)
        return about(std::move(index).error(), path);
    out->m_index = std::move(*index);
    for (size_t i = 0; i < out->m_index.files.size(); ++i) {
        const uint64_t kept = out->m_index.files[i].keptBytes();
        const auto record = out->m_zip.find(skeletonRecord(i));
        const uint64_t held = record ? out->m_zip.record(*record).inflatedBytes : 0;
        if (held != kept)
            return fail(ErrorCode::Damaged, "the bytes of a file of the skeleton do not match its index",
                (path / out->m_index.files[i].path).string());
    }
    out->buildTree();
    if (!out->m_index.open.empty() && !out->stat(out->m_index.open))
        return fail(
            ErrorCode::Damaged, "the path that the skeleton says to open is not in it", path.string());
    return out;
}

void SkeletonArchive::buildTree()
{
    std::set<std::string> folders;
    m_folders[""];
    for (size_t i = 0; i < m_index.files.size(); ++i) {
        const std::string& path = m_index.files[i].path;
        m_files.emplace(path, i);
        for (size_t begin = 0;;) {
            const size_t slash = path.find('/', begin);
            std::vector<io::DirectoryEntry>& folder = m_folders[begin == 0 ? "" : path.substr(0, begin - 1)];
            if (slash == std::string::npos) {
                folder.push_back({path.substr(begin), io::FileType::Regular});
                break;
            }
            if (folders.insert(path.substr(0, slash)).second)
                folder.push_back({path.substr(begin, slash - begin), io::FileType::Directory});
            begin = slash + 1;
        }
    }
    for (auto& [path, entries] : m_folders)
        std::sort(
            entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

Result<io::FileInfo> SkeletonArchive::stat(const std::string& path) const
{
    io::FileInfo out;
    out.identity = identity();
    if (m_folders.contains(path)) {
        out.type = io::FileType::Directory;
        out.mode = kFolderMode;
        return out;
    }
    const auto found = m_files.find(path);
    if (found == m_files.end())
        return fail(ErrorCode::NotFound, "the skeleton has no such file", (m_path / path).string());
    const SkeletonFile& file = m_index.files[found->second];
    out.type = io::FileType::Regular;
    out.mode = kFileMode;
    out.identity.inode = found->second + 1; // different files must not look like links to one
    out.identity.bytes = file.bytes;
    out.identity.modifiedNs = out.identity.changedNs = file.modifiedNs;
    return out;
}

Result<std::vector<io::DirectoryEntry>> SkeletonArchive::list(const std::string& path) const
{
    const auto found = m_folders.find(path);
    if (found == m_folders.end())
        return fail(m_files.contains(path) ? ErrorCode::Unreadable : ErrorCode::NotFound,
            "the skeleton has no such folder", (m_path / path).string());
    return found->second;
}

Result<std::unique_ptr<io::ReadFile>> SkeletonArchive::openRead(
    const std::string& path, const io::Path& shown)
{
    SHARDSCOPE_TRY(const io::FileInfo info, stat(path));
    const auto found = m_files.find(path);
    if (found == m_files.end())
        return fail(ErrorCode::Unreadable, "it is a folder, not a file", shown.string());
    const SkeletonFile& file = m_index.files[found->second];
    if (file.unreadable)
        return fail(file.unreadable->code, file.unreadable->message, shown.string());
    SHARDSCOPE_TRY(auto bytes, bytesOf(found->second));
    return std::make_unique<SkeletonReadFile>(
        shared_from_this(), file, std::move(bytes), m_file, ShownFile{shown, info.identity});
}

Result<std::shared_ptr<const std::string>> SkeletonArchive::bytesOf(size_t file)
{
    {
        const std::lock_guard lock(m_mutex);
        if (const auto found = m_open.find(file); found != m_open.end())
            if (auto bytes = found->second.lock())
                return bytes;
    }
    auto bytes = std::make_shared<const std::string>();
    if (m_index.files[file].keptBytes() > 0) {
        auto text = recordText(*m_file, m_zip, skeletonRecord(file), kMaxKeptBytes);
        if (!text)
            return about(std::move(text).error(), m_path);
        bytes = std::make_shared<const std::string>(std::move(*text));
    }
    const std::lock_guard lock(m_mutex);
    m_open[file] = bytes;
    return bytes;
}

Status SkeletonArchive::verify()
{
    for (const ZipRecord& record : m_zip.records()) {
        JobContext job;
        SHARDSCOPE_CHECK(checkRecordCrc(*m_file, record, job));
    }
    return {};
}

} // namespace shardscope
