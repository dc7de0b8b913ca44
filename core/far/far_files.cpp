// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_files.h"

#include "core/far/far_calls.h"
#include "core/io/kept_ranges.h"
#include "core/objects/object_files.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace shardscope::far {

namespace {

using serve::FileCall;
using serve::FileResult;

/// A later change can leave the times of a file as they are if it was changed so shortly before: file systems
/// count in steps, of 2 s at most.
constexpr std::chrono::seconds kSettled{2};

template <class T, class ValueOf>
Result<T> valueOr(FileResult result, const ValueOf& valueOf)
{
    if (result.error)
        return forward(std::move(*result.error));
    return valueOf(std::move(result));
}

Status statusOf(const FileResult& result)
{
    return result.error ? forward(*result.error) : Status();
}

/// Whether another version of the file would have other times from now on, by the clock of this machine.
bool isSettled(const io::FileIdentity& file)
{
    const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch())
                            .count();
    const int64_t settled = now - std::chrono::nanoseconds(kSettled).count();
    return file.modifiedNs < settled && file.changedNs < settled;
}

/// Names a file and its version: no two have the same name.
std::string versionOf(const io::Path& path, const io::FileIdentity& file)
{
    std::string out;
    for (const uint64_t number : {file.device, file.inode, file.bytes, static_cast<uint64_t>(file.modifiedNs),
             static_cast<uint64_t>(file.changedNs)})
        out += std::to_string(number) + " ";
    return out + path.string();
}

/// A file of another host: its path and identity. Nothing is held open over there.
class FarFile final : public io::ReadFile
{
public:
    FarFile(
        io::Path path, FarPath far, const io::FileIdentity& identity, std::shared_ptr<io::KeptRanges> kept)
        : m_path(std::move(path))
        , m_far(std::move(far))
        , m_identity(identity)
        , m_version(versionOf(m_path, m_identity))
        , m_kept(std::move(kept))
        , m_isSettled(isSettled(m_identity))
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_identity.bytes; }
    [[nodiscard]] const io::Path& path() const override { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const override { return m_identity; }
    [[nodiscard]] const std::string& host() const { return m_far.host; }
    /// Damaged past the end.
    [[nodiscard]] Status checkRange(uint64_t offset, uint64_t bytes) const
    {
        if (offset <= size() && bytes <= size() - offset)
            return {};
        return fail(ErrorCode::Damaged,
            "cannot read " + std::to_string(bytes) + " bytes at " + std::to_string(offset)
                + ": the file has only " + std::to_string(size()),
            m_path.string());
    }
    /// Adds calls for all of `out`.
    void addTo(AskedCalls& asked, uint64_t offset, std::span<uint8_t> out, size_t place) const
    {
        while (!out.empty()) {
            const auto piece = out.first(std::min<uint64_t>(out.size(), kQuestionBytes));
            asked.add(call(serve::call::kRead, offset, piece.size()), place, piece);
            offset += piece.size();
            out = out.subspan(piece.size());
        }
    }
    [[nodiscard]] FileCall call(std::string_view what, uint64_t offset, uint64_t bytes) const
    {
        return {std::string(what), m_far.path.string(), marked(m_identity, m_far.host), offset, bytes};
    }
    bool takeKept(uint64_t offset, std::span<uint8_t> out) const
    {
        return m_kept->take(m_version, offset, out);
    }
    void keep(uint64_t offset, std::span<const uint8_t> bytes) const
    {
        if (m_isSettled)
            m_kept->keep(m_version, offset, bytes);
    }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        SHARDSCOPE_CHECK(checkRange(offset, out.size()));
        if (takeKept(offset, out))
            return {};
        AskedCalls asked;
        addTo(asked, offset, out, 0);
        for (const FileResult& result : askHost(host(), asked))
            SHARDSCOPE_CHECK(statusOf(result));
        keep(offset, out);
        return {};
    }
    /// That of this process: what is read afterwards, such as by readFromDevice(), is asked for again.
    void dropCache(uint64_t /*offset*/, uint64_t /*bytes*/) const override { m_kept->forget(m_version); }
    Status checkUnchanged() const override
    {
        return statusOf(askOne(m_far, call(serve::call::kUnchanged, 0, 0)));
    }

private:
    io::Path m_path;
    FarPath m_far;
    io::FileIdentity m_identity;
    std::string m_version;
    std::shared_ptr<io::KeptRanges> m_kept;
    bool m_isSettled = false; ///< when it was opened
};

/// Makes the file that a call has opened.
auto openerOf(std::shared_ptr<io::KeptRanges> kept)
{
    return [kept = std::move(kept)](const io::Path& path, const FarPath& far,
               FileResult result) -> Result<std::unique_ptr<io::ReadFile>> {
        if (result.error)
            return forward(std::move(*result.error));
        return std::make_unique<FarFile>(path, far, result.info.identity, kept);
    };
}

/// One result for each path: `ofFar` for far ones, and `ofOwn` for all others together.
template <class T, class OfFar, class OfOwn>
std::vector<T> forPaths(
    std::span<const io::Path> paths, std::string_view what, const OfFar& ofFar, const OfOwn& ofOwn)
{
    std::map<std::string, AskedCalls> byHost;
    std::vector<io::Path> own;
    std::vector<size_t> ownPlaces;
    std::vector<std::optional<T>> made(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
        if (const auto far = farPathOf(paths[i])) {
            byHost[far->host].add(callOf(what, *far), i);
        } else {
            own.push_back(paths[i]);
            ownPlaces.push_back(i);
        }
    }
    askHosts(byHost, [&](size_t place, FileResult result) {
        made[place].emplace(ofFar(paths[place], *farPathOf(paths[place]), std::move(result)));
    });
    std::vector<T> others = own.empty() ? std::vector<T>() : ofOwn(own);
    for (size_t i = 0; i < others.size(); ++i)
        made[ownPlaces[i]].emplace(std::move(others[i]));
    std::vector<T> out;
    out.reserve(made.size());
    for (std::optional<T>& one : made)
        out.push_back(std::move(*one));
    return out;
}

} // namespace

FarFiles::FarFiles(io::FileSystem& own)
    : io::ForwardingFileSystem(own)
    , m_kept(std::make_shared<io::KeptRanges>())
{
}

FarFiles::Opened FarFiles::openRead(const io::Path& path)
{
    const auto far = farPathOf(path);
    return far ? openerOf(m_kept)(path, *far, askOne(*far, callOf(serve::call::kOpen, *far)))
               : ForwardingFileSystem::openRead(path);
}

std::vector<FarFiles::Opened> FarFiles::openReadAll(std::span<const io::Path> paths)
{
    return forPaths<Opened>(paths, serve::call::kOpen, openerOf(m_kept),
        [&](std::span<const io::Path> own) { return inner().openReadAll(own); });
}

std::vector<Result<io::FileInfo>> FarFiles::statAll(std::span<const io::Path> paths)
{
    const auto infoOf = [](const io::Path& /*path*/, const FarPath& /*far*/, FileResult result) {
        return valueOr<io::FileInfo>(std::move(result), [](FileResult found) { return found.info; });
    };
    return forPaths<Result<io::FileInfo>>(paths, serve::call::kStat, infoOf,
        [&](std::span<const io::Path> own) { return inner().statAll(own); });
}

std::vector<Status> FarFiles::readAll(std::span<const io::ReadRange> ranges)
{
    std::vector<Status> out(ranges.size());
    std::map<std::string, AskedCalls> byHost;
    std::vector<io::ReadRange> own;
    std::vector<size_t> ownPlaces;
    for (size_t i = 0; i < ranges.size(); ++i) {
        const auto* file = dynamic_cast<const FarFile*>(ranges[i].file);
        if (file == nullptr) {
            own.push_back(ranges[i]);
            ownPlaces.push_back(i);
            continue;
        }
        out[i] = file->checkRange(ranges[i].offset, ranges[i].out.size());
        if (out[i] && !file->takeKept(ranges[i].offset, ranges[i].out))
            file->addTo(byHost[file->host()], ranges[i].offset, ranges[i].out, i);
    }
    askHosts(byHost, [&](size_t place, const FileResult& result) {
        if (result.error)
            out[place] = forward(*result.error);
        else // one of several parts is too long to be kept
            dynamic_cast<const FarFile&>(*ranges[place].file).keep(ranges[place].offset, ranges[place].out);
    });
    std::vector<Status> others = inner().readAll(own);
    for (size_t i = 0; i < others.size(); ++i)
        out[ownPlaces[i]] = std::move(others[i]);
    return out;
}

std::vector<Status> FarFiles::checkAllUnchanged(std::span<const io::ReadFile* const> files)
{
    std::vector<Status> out(files.size());
    std::map<std::string, AskedCalls> byHost;
    std::vector<const io::ReadFile*> own;
    std::vector<size_t> ownPlaces;
    for (size_t i = 0; i < files.size(); ++i) {
        const auto* file = dynamic_cast<const FarFile*>(files[i]);
        if (file == nullptr) {
            own.push_back(files[i]);
            ownPlaces.push_back(i);
            continue;
        }
        byHost[file->host()].add(file->call(serve::call::kUnchanged, 0, 0), i);
    }
    askHosts(byHost, [&](size_t place, const FileResult& result) { out[place] = statusOf(result); });
    std::vector<Status> others = inner().checkAllUnchanged(own);
    for (size_t i = 0; i < others.size(); ++i)
        out[ownPlaces[i]] = std::move(others[i]);
    return out;
}

Result<std::string> FarFiles::readSmall(const io::Path& path, uint64_t limitBytes)
{
    const auto far = farPathOf(path);
    if (!far)
        return ForwardingFileSystem::readSmall(path, limitBytes);
    FileCall call = callOf(serve::call::kSmall, *far);
    call.bytes = std::min(limitBytes, serve::kCalledBytesLimit);
    std::string text;
    SHARDSCOPE_CHECK(statusOf(askOne(*far, std::move(call), &text)));
    return text;
}

Result<io::FileInfo> FarFiles::stat(const io::Path& path)
{
    const auto far = farPathOf(path);
    if (!far)
        return ForwardingFileSystem::stat(path);
    return valueOr<io::FileInfo>(
        askOne(*far, callOf(serve::call::kStat, *far)), [](FileResult found) { return found.info; });
}

Result<std::vector<io::DirectoryEntry>> FarFiles::list(const io::Path& path)
{
    const auto far = farPathOf(path);
    if (!far)
        return ForwardingFileSystem::list(path);
    return valueOr<std::vector<io::DirectoryEntry>>(askOne(*far, callOf(serve::call::kList, *far)),
        [](FileResult found) { return std::move(found.entries); });
}

Result<io::Path> FarFiles::canonical(const io::Path& path)
{
    const auto far = farPathOf(path);
    if (!far)
        return ForwardingFileSystem::canonical(path);
    return valueOr<io::Path>(askOne(*far, callOf(serve::call::kCanonical, *far)),
        [&](const FileResult& found) { return farPath(far->host, found.path); });
}

Result<io::Space> FarFiles::space(const io::Path& path)
{
    const auto far = farPathOf(path);
    if (!far)
        return ForwardingFileSystem::space(path);
    return valueOr<io::Space>(
        askOne(*far, callOf(serve::call::kSpace, *far)), [](const FileResult& found) { return found.space; });
}

Result<std::unique_ptr<io::FileLock>> FarFiles::lock(const io::Path& path, io::LockKind kind)
{
    if (isFar(path))
        return std::unique_ptr<io::FileLock>();
    return ForwardingFileSystem::lock(path, kind);
}

Status FarFiles::beforeWrite(const io::Path& path, const io::Path* further)
{
    if (!isFar(path) && (further == nullptr || !isFar(*further)))
        return {};
    return fail(ErrorCode::Unsupported, "nothing is written on another host from here", path.string(),
        "run the command there, by ssh, or write to a folder of this machine");
}

io::FileSystem& farAndOwnFiles()
{
    static FarFiles files(objects::objectsAndOwnFiles());
    return files;
}

} // namespace shardscope::far
