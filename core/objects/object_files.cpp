// SPDX-License-Identifier: Apache-2.0
#include "core/objects/object_files.h"

#include "core/io/xxh3.h"
#include "core/objects/known_objects.h"

#include <algorithm>
#include <cstdlib>

namespace shardscope::objects {

namespace {

constexpr uint32_t kFileMode = 0444;
constexpr uint32_t kFolderMode = 0555;

uint64_t numberOf(std::string_view text)
{
    io::Xxh3 digest;
    digest.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return digest.digest().low;
}

/// The version is a part of the number that stands for an inode.
io::FileInfo infoOf(const FoundObject& found)
{
    io::FileInfo out;
    out.type = found.version ? io::FileType::Regular : io::FileType::Directory;
    out.mode = found.version ? kFileMode : kFolderMode;
    out.identity.device = numberOf("s3://" + found.place.bucket) | 1;
    out.identity.inode = numberOf(found.place.key + "\n" + (found.version ? found.version->tag : ""));
    if (found.version) {
        out.identity.bytes = found.version->bytes;
        out.identity.modifiedNs = found.version->modifiedNs;
        out.identity.changedNs = found.version->modifiedNs;
    }
    return out;
}

Error notWritten(const io::Path& path)
{
    return {ErrorCode::Unsupported, "nothing is written to an object store", path.string(),
        "write to a folder of this machine, and copy the result"};
}

Error noFile(const io::Path& path)
{
    return {ErrorCode::Unreadable, "it is a folder, not a file", path.string(), {}};
}

/// An object: its place and version. Nothing is held open.
class ObjectFile final : public io::ReadFile
{
public:
    ObjectFile(io::Path path, FoundObject found, std::shared_ptr<KnownObjects> objects)
        : m_path(std::move(path))
        , m_found(std::move(found))
        , m_identity(infoOf(m_found).identity)
        , m_objects(std::move(objects))
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_identity.bytes; }
    [[nodiscard]] const io::Path& path() const override { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const override { return m_identity; }
    [[nodiscard]] const FoundObject& found() const { return m_found; }
    [[nodiscard]] KnownObjects& objects() const { return *m_objects; }
    /// The range for a question; Damaged past the end.
    [[nodiscard]] Result<ObjectRange> range(uint64_t offset, std::span<uint8_t> out) const
    {
        if (offset > size() || out.size() > size() - offset)
            return fail(ErrorCode::Damaged,
                "cannot read " + std::to_string(out.size()) + " bytes at " + std::to_string(offset)
                    + ": the object has only " + std::to_string(size()),
                m_path.string());
        return ObjectRange{m_found.place, *m_found.version, offset, out};
    }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        SHARDSCOPE_TRY(const ObjectRange asked, range(offset, out));
        return m_objects->read(std::span(&asked, 1)).front();
    }
    void dropCache(uint64_t /*offset*/, uint64_t /*bytes*/) const override { }
    Status checkUnchanged() const override
    {
        return m_objects->checkUnchanged(std::span(&m_found, 1)).front();
    }

private:
    io::Path m_path;
    FoundObject m_found;
    io::FileIdentity m_identity;
    std::shared_ptr<KnownObjects> m_objects;
};

/// One result for each path: `ofObjects` for all of object stores together, `ofOwn` for all others.
template <class T, class OfObjects, class OfOwn>
std::vector<T> forPaths(std::span<const io::Path> paths, const OfObjects& ofObjects, const OfOwn& ofOwn)
{
    std::vector<io::Path> own;
    std::vector<io::Path> objects;
    for (const io::Path& path : paths)
        (isObject(path) ? objects : own).push_back(path);
    if (objects.empty())
        return ofOwn(own);
    std::vector<T> fromObjects = ofObjects(std::span<const io::Path>(objects));
    std::vector<T> others = own.empty() ? std::vector<T>() : ofOwn(std::span<const io::Path>(own));
    std::vector<T> out;
    out.reserve(paths.size());
    auto object = fromObjects.begin();
    auto other = others.begin();
    for (const io::Path& path : paths)
        out.push_back(std::move(isObject(path) ? *object++ : *other++));
    return out;
}

} // namespace

/// The store, once it is needed.
class ObjectFiles::Known
{
public:
    explicit Known(Environment environment)
        : m_environment(std::move(environment))
    {
    }

    /// Tries again if it failed before.
    Result<std::shared_ptr<KnownObjects>> objects(io::FileSystem& own)
    {
        const std::lock_guard lock(m_mutex);
        if (m_objects)
            return m_objects;
        SHARDSCOPE_TRY(auto store, openObjectStore(own, m_environment, m_stop));
        m_objects = std::make_shared<KnownObjects>(std::move(store));
        return m_objects;
    }
    StoreTraffic traffic()
    {
        const std::lock_guard lock(m_mutex);
        return m_objects ? m_objects->traffic() : StoreTraffic();
    }
    void setStop(std::stop_token stop)
    {
        const std::lock_guard lock(m_mutex);
        m_stop = std::move(stop);
    }
    std::vector<Result<FoundObject>> find(io::FileSystem& own, std::span<const io::Path> paths)
    {
        std::vector<std::optional<Result<FoundObject>>> found(paths.size());
        std::vector<ObjectPath> places;
        std::vector<size_t> numbers;
        const auto objects = this->objects(own);
        for (size_t i = 0; i < paths.size(); ++i) {
            auto place = objects ? objectPathOf(paths[i]) : Result<ObjectPath>(forward(objects.error()));
            if (place) {
                places.push_back(std::move(*place));
                numbers.push_back(i);
                continue;
            }
            if (place.error().path.empty())
                place.error().path = paths[i].string();
            found[i].emplace(forward(std::move(place).error()));
        }
        if (!places.empty()) {
            std::vector<Result<FoundObject>> there = (*objects)->find(places);
            for (size_t k = 0; k < there.size(); ++k)
                found[numbers[k]].emplace(std::move(there[k]));
        }
        std::vector<Result<FoundObject>> out;
        out.reserve(found.size());
        for (auto& one : found)
            out.push_back(std::move(*one));
        return out;
    }
    std::vector<Opened> open(io::FileSystem& own, std::span<const io::Path> paths)
    {
        std::vector<Opened> out;
        out.reserve(paths.size());
        std::vector<Result<FoundObject>> found = find(own, paths);
        const auto objects = this->objects(own);
        for (size_t i = 0; i < paths.size(); ++i) {
            if (!found[i])
                out.emplace_back(forward(std::move(found[i]).error()));
            else if (!found[i]->version)
                out.emplace_back(forward(noFile(paths[i])));
            else
                out.emplace_back(std::make_unique<ObjectFile>(paths[i], std::move(*found[i]), *objects));
        }
        return out;
    }

private:
    Environment m_environment;
    std::mutex m_mutex;
    std::stop_token m_stop;
    std::shared_ptr<KnownObjects> m_objects;
};

ObjectFiles::ObjectFiles(io::FileSystem& own, Environment environment)
    : ForwardingFileSystem(own)
    , m_known(std::make_unique<Known>(std::move(environment)))
{
}

ObjectFiles::~ObjectFiles() = default;

StoreTraffic ObjectFiles::traffic() const
{
    return m_known->traffic();
}

void ObjectFiles::setStop(std::stop_token stop)
{
    m_known->setStop(std::move(stop));
}

std::vector<ObjectFiles::Opened> ObjectFiles::openReadAll(std::span<const io::Path> paths)
{
    return forPaths<Opened>(
        paths, [&](auto objects) { return m_known->open(inner(), objects); },
        [&](auto own) { return inner().openReadAll(own); });
}

std::vector<Result<io::FileInfo>> ObjectFiles::statAll(std::span<const io::Path> paths)
{
    const auto ofObjects = [&](std::span<const io::Path> objects) {
        std::vector<Result<io::FileInfo>> out;
        for (Result<FoundObject>& one : m_known->find(inner(), objects))
            out.push_back(one ? Result<io::FileInfo>(infoOf(*one)) : forward(std::move(one).error()));
        return out;
    };
    return forPaths<Result<io::FileInfo>>(paths, ofObjects, [&](auto own) { return inner().statAll(own); });
}

std::vector<Status> ObjectFiles::readAll(std::span<const io::ReadRange> ranges)
{
    std::vector<Status> out(ranges.size());
    std::vector<ObjectRange> asked;
    std::vector<size_t> places;
    std::vector<io::ReadRange> own;
    std::vector<size_t> ownPlaces;
    KnownObjects* objects = nullptr; // there is one for the process
    for (size_t i = 0; i < ranges.size(); ++i) {
        const auto* file = dynamic_cast<const ObjectFile*>(ranges[i].file);
        if (file == nullptr) {
            own.push_back(ranges[i]);
            ownPlaces.push_back(i);
            continue;
        }
        objects = &file->objects();
        auto range = file->range(ranges[i].offset, ranges[i].out);
        if (!range) {
            out[i] = forward(std::move(range).error());
        } else {
            asked.push_back(std::move(*range));
            places.push_back(i);
        }
    }
    const auto give = [&](std::vector<Status> got, const std::vector<size_t>& to) {
        for (size_t k = 0; k < got.size(); ++k)
            out[to[k]] = std::move(got[k]);
    };
    if (!asked.empty())
        give(objects->read(asked), places);
    if (!own.empty())
        give(inner().readAll(own), ownPlaces);
    return out;
}

std::vector<Status> ObjectFiles::checkAllUnchanged(std::span<const io::ReadFile* const> files)
{
    std::vector<Status> out(files.size());
    std::vector<FoundObject> asked;
    std::vector<size_t> places;
    KnownObjects* objects = nullptr;
    for (size_t i = 0; i < files.size(); ++i) {
        const auto* file = dynamic_cast<const ObjectFile*>(files[i]);
        if (file == nullptr) {
            out[i] = files[i]->checkUnchanged();
            continue;
        }
        objects = &file->objects();
        asked.push_back(file->found());
        places.push_back(i);
    }
    std::vector<Status> got = asked.empty() ? std::vector<Status>() : objects->checkUnchanged(asked);
    for (size_t k = 0; k < got.size(); ++k)
        out[places[k]] = std::move(got[k]);
    return out;
}

ObjectFiles::Opened ObjectFiles::openRead(const io::Path& path)
{
    return isObject(path) ? std::move(m_known->open(inner(), std::span(&path, 1)).front())
                          : ForwardingFileSystem::openRead(path);
}

Result<std::string> ObjectFiles::readSmall(const io::Path& path, uint64_t limitBytes)
{
    if (!isObject(path))
        return ForwardingFileSystem::readSmall(path, limitBytes);
    SHARDSCOPE_TRY(const auto file, openRead(path));
    if (file->size() > limitBytes)
        return fail(ErrorCode::LimitExceeded,
            "the object has more than " + std::to_string(limitBytes) + " bytes", path.string());
    std::string out(file->size(), '\0');
    SHARDSCOPE_CHECK(file->readAt(0, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
    return out;
}

Result<io::FileInfo> ObjectFiles::stat(const io::Path& path)
{
    if (!isObject(path))
        return ForwardingFileSystem::stat(path);
    SHARDSCOPE_TRY(const FoundObject found, m_known->find(inner(), std::span(&path, 1)).front());
    return infoOf(found);
}

Result<std::vector<io::DirectoryEntry>> ObjectFiles::list(const io::Path& path)
{
    if (!isObject(path))
        return ForwardingFileSystem::list(path);
    SHARDSCOPE_TRY(const auto objects, m_known->objects(inner()));
    ObjectPath place; // of the store
    if (!isStore(path)) {
        SHARDSCOPE_TRY(place, objectPathOf(path));
    }
    SHARDSCOPE_TRY(const auto folder, objects->list(place));
    std::vector<io::DirectoryEntry> out;
    for (const auto& [name, version] : folder->files)
        out.push_back({name, io::FileType::Regular});
    for (const std::string& name : folder->folders)
        out.push_back({name, io::FileType::Directory});
    std::ranges::sort(out, {}, &io::DirectoryEntry::name);
    return out;
}

Result<io::Path> ObjectFiles::canonical(const io::Path& path)
{
    if (!isObject(path))
        return ForwardingFileSystem::canonical(path);
    SHARDSCOPE_TRY(const FoundObject found, m_known->find(inner(), std::span(&path, 1)).front());
    return objectPath(found.place.bucket, found.place.key);
}

Result<io::Space> ObjectFiles::space(const io::Path& path)
{
    return isObject(path) ? Result<io::Space>(forward(notWritten(path))) : ForwardingFileSystem::space(path);
}

Result<std::unique_ptr<io::FileLock>> ObjectFiles::lock(const io::Path& path, io::LockKind kind)
{
    if (isObject(path))
        return std::unique_ptr<io::FileLock>();
    return ForwardingFileSystem::lock(path, kind);
}

Status ObjectFiles::beforeWrite(const io::Path& path, const io::Path* further)
{
    return isObject(path) || (further != nullptr && isObject(*further)) ? forward(notWritten(path))
                                                                        : Status();
}

ObjectFiles& objectsAndOwnFiles()
{
    // Never destroyed: OpenSSL, which connections use, cleans up first.
    static ObjectFiles& files = *new ObjectFiles(io::realFileSystem(), [](std::string_view name) {
        const char* value = std::getenv(std::string(name).c_str());
        return std::string(value != nullptr ? value : "");
    });
    return files;
}

} // namespace shardscope::objects
