// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_files.h"

#include "core/base/parallel.h"
#include "core/far/far_host.h"
#include "core/io/outage_watch.h"
#include "core/objects/object_files.h"
#include "core/serve/file_calls.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

namespace shardscope::far {

namespace {

using serve::FileCall;
using serve::FileResult;

constexpr uint64_t kQuestionBytes = uint64_t{16} << 20; ///< of data, which are held until all have arrived
constexpr size_t kQuestionCalls = 8192;
constexpr size_t kQuestionsAtOnce = 8;

/// A device number of another host is none of this machine: folders of both are never taken for the same one.
/// Done twice, it is undone.
io::FileIdentity marked(io::FileIdentity identity, const std::string& host)
{
    identity.device ^= std::hash<std::string>()(host) | 1;
    return identity;
}

/// What to ask one host, with the place of each answer.
struct Asked {
    std::vector<FileCall> calls;
    std::vector<std::span<uint8_t>> outs; ///< of data; as many as calls
    std::vector<size_t> places;
};

FileCall callOf(std::string_view what, const FarPath& path)
{
    return {.call = std::string(what), .path = path.path.string()};
}

/// A question with calls [begin, end).
std::vector<FileResult> askOnce(
    FarHost& host, const Asked& asked, size_t begin, size_t end, std::string* text)
{
    const std::span<const FileCall> calls = std::span(asked.calls).subspan(begin, end - begin);
    uint64_t most = 0;
    for (const FileCall& call : calls)
        most += call.bytes;
    std::string data;
    const FarQuestion question{.request = {.ask = std::string(serve::ask::kFiles)},
        .payload = serve::fileCallsText(calls),
        .data = [&](std::string_view bytes) -> Status {
            if (bytes.size() > most - data.size())
                return fail(ErrorCode::Hostile, "the other end sends more data than were asked for");
            data += bytes;
            return {};
        }};
    const auto answer = host.ask(question);
    auto results = answer ? serve::parseFileResults(answer->payload, calls)
                          : Result<std::vector<FileResult>>(forward(answer.error()));
    std::optional<Error> failed;
    uint64_t given = 0;
    if (!results)
        failed = results.error();
    else
        for (const FileResult& result : *results)
            given += result.bytes;
    if (!failed && given != data.size())
        failed = Error{ErrorCode::Hostile, "the other end sends other data than it says", host.name(), {}};
    if (failed) {
        if (failed->code != ErrorCode::Cancelled)
            io::noteOutage(*failed, host.name());
        return std::vector<FileResult>(calls.size(), FileResult{.error = failed});
    }
    size_t at = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        FileResult& result = (*results)[i];
        result.info.identity = marked(result.info.identity, host.name());
        if (result.error) {
            result.error = ofHost(std::move(*result.error), host.name());
            if (result.isOutage)
                io::noteOutage(*result.error, host.name());
        }
        if (text != nullptr)
            *text = data.substr(at, result.bytes);
        else if (result.bytes > 0)
            std::memcpy(asked.outs[begin + i].data(), data.data() + at, result.bytes);
        at += result.bytes;
    }
    return std::move(*results);
}

/// All calls, in questions of a good size, several under way at once.
std::vector<FileResult> askHost(FarHost& host, const Asked& asked)
{
    std::vector<std::pair<size_t, size_t>> questions;
    uint64_t bytes = 0;
    for (size_t i = 0; i < asked.calls.size(); ++i) {
        const bool isFull = !questions.empty()
            && (bytes + asked.calls[i].bytes > kQuestionBytes
                || i - questions.back().first >= kQuestionCalls);
        if (questions.empty() || isFull) {
            questions.emplace_back(i, i);
            bytes = 0;
        }
        bytes += asked.calls[i].bytes;
        questions.back().second = i + 1;
    }
    std::vector<FileResult> out(asked.calls.size());
    JobContext job;
    (void)parallelFor(questions.size(), kQuestionsAtOnce, job, [&](size_t number) {
        const auto [begin, end] = questions[number];
        auto results = askOnce(host, asked, begin, end, nullptr);
        std::ranges::move(results, out.begin() + static_cast<ptrdiff_t>(begin));
        return Status();
    });
    return out;
}

/// The results of one call on one path.
FileResult askOne(const FarPath& path, FileCall call)
{
    Asked asked;
    asked.calls.push_back(std::move(call));
    asked.outs.emplace_back();
    return askOnce(farHost(path.host), asked, 0, 1, nullptr).front();
}

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

/// A file of another host: its path and identity. Nothing is held open over there.
class FarFile final : public io::ReadFile
{
public:
    FarFile(io::Path path, FarPath far, const io::FileIdentity& identity)
        : m_path(std::move(path))
        , m_far(std::move(far))
        , m_identity(identity)
    {
    }

    [[nodiscard]] uint64_t size() const override { return m_identity.bytes; }
    [[nodiscard]] const io::Path& path() const override { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const override { return m_identity; }
    [[nodiscard]] const std::string& host() const { return m_far.host; }
    /// Adds calls for all of `out`; false where that is past the end.
    bool addTo(Asked& asked, uint64_t offset, std::span<uint8_t> out, size_t place) const
    {
        if (offset > size() || out.size() > size() - offset)
            return false;
        while (!out.empty()) {
            const auto piece = out.first(std::min<uint64_t>(out.size(), kQuestionBytes));
            asked.calls.push_back(call(serve::call::kRead, offset, piece.size()));
            asked.outs.push_back(piece);
            asked.places.push_back(place);
            offset += piece.size();
            out = out.subspan(piece.size());
        }
        return true;
    }
    [[nodiscard]] Status pastEnd(uint64_t offset, uint64_t bytes) const
    {
        return fail(ErrorCode::Damaged,
            "cannot read " + std::to_string(bytes) + " bytes at " + std::to_string(offset)
                + ": the file has only " + std::to_string(size()),
            m_path.string());
    }
    [[nodiscard]] FileCall call(std::string_view what, uint64_t offset, uint64_t bytes) const
    {
        return {std::string(what), m_far.path.string(), marked(m_identity, m_far.host), offset, bytes};
    }
    Status readAt(uint64_t offset, std::span<uint8_t> out) const override
    {
        Asked asked;
        if (!addTo(asked, offset, out, 0))
            return pastEnd(offset, out.size());
        for (const FileResult& result : askHost(farHost(host()), asked))
            SHARDSCOPE_CHECK(statusOf(result));
        return {};
    }
    void dropCache(uint64_t /*offset*/, uint64_t /*bytes*/) const override { }
    Status checkUnchanged() const override
    {
        return statusOf(askOne(m_far, call(serve::call::kUnchanged, 0, 0)));
    }

private:
    io::Path m_path;
    FarPath m_far;
    io::FileIdentity m_identity;
};

Result<std::unique_ptr<io::ReadFile>> fileOf(const io::Path& path, const FarPath& far, FileResult result)
{
    if (result.error)
        return forward(std::move(*result.error));
    return std::make_unique<FarFile>(path, far, result.info.identity);
}

/// Asks all hosts side by side, and gives each result with its place to `take`, one at a time.
void askHosts(const std::map<std::string, Asked>& byHost, const std::function<void(size_t, FileResult)>& take)
{
    std::vector<const std::pair<const std::string, Asked>*> hosts;
    for (const auto& one : byHost)
        hosts.push_back(&one);
    std::mutex mutex;
    JobContext job;
    (void)parallelFor(hosts.size(), static_cast<unsigned>(hosts.size()), job, [&](size_t i) {
        const Asked& asked = hosts[i]->second;
        std::vector<FileResult> results = askHost(farHost(hosts[i]->first), asked);
        const std::lock_guard lock(mutex);
        for (size_t k = 0; k < results.size(); ++k)
            take(asked.places[k], std::move(results[k]));
        return Status();
    });
}

/// One result for each path: `ofFar` for far ones, and `ofOwn` for all others together.
template <class T, class OfFar, class OfOwn>
std::vector<T> forPaths(
    std::span<const io::Path> paths, std::string_view what, const OfFar& ofFar, const OfOwn& ofOwn)
{
    std::map<std::string, Asked> byHost;
    std::vector<io::Path> own;
    std::vector<size_t> ownPlaces;
    std::vector<std::optional<T>> made(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
        if (const auto far = farPathOf(paths[i])) {
            Asked& asked = byHost[far->host];
            asked.calls.push_back(callOf(what, *far));
            asked.outs.emplace_back();
            asked.places.push_back(i);
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

Error notWritten(const io::Path& path)
{
    return {ErrorCode::Unsupported, "nothing is written on another host from here", path.string(),
        "run the command there, by ssh, or write to a folder of this machine"};
}

} // namespace

FarFiles::Opened FarFiles::openRead(const io::Path& path)
{
    const auto far = farPathOf(path);
    return far ? fileOf(path, *far, askOne(*far, callOf(serve::call::kOpen, *far)))
               : ForwardingFileSystem::openRead(path);
}

std::vector<FarFiles::Opened> FarFiles::openReadAll(std::span<const io::Path> paths)
{
    return forPaths<Opened>(paths, serve::call::kOpen, fileOf,
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
    std::map<std::string, Asked> byHost;
    std::vector<io::ReadRange> own;
    std::vector<size_t> ownPlaces;
    for (size_t i = 0; i < ranges.size(); ++i) {
        const auto* file = dynamic_cast<const FarFile*>(ranges[i].file);
        if (file == nullptr) {
            own.push_back(ranges[i]);
            ownPlaces.push_back(i);
        } else if (!file->addTo(byHost[file->host()], ranges[i].offset, ranges[i].out, i)) {
            out[i] = file->pastEnd(ranges[i].offset, ranges[i].out.size());
        }
    }
    askHosts(byHost, [&](size_t place, const FileResult& result) {
        if (result.error)
            out[place] = forward(*result.error);
    });
    std::vector<Status> others = inner().readAll(own);
    for (size_t i = 0; i < others.size(); ++i)
        out[ownPlaces[i]] = std::move(others[i]);
    return out;
}

std::vector<Status> FarFiles::checkAllUnchanged(std::span<const io::ReadFile* const> files)
{
    std::vector<Status> out(files.size());
    std::map<std::string, Asked> byHost;
    std::vector<const io::ReadFile*> own;
    std::vector<size_t> ownPlaces;
    for (size_t i = 0; i < files.size(); ++i) {
        const auto* file = dynamic_cast<const FarFile*>(files[i]);
        if (file == nullptr) {
            own.push_back(files[i]);
            ownPlaces.push_back(i);
            continue;
        }
        Asked& asked = byHost[file->host()];
        asked.calls.push_back(file->call(serve::call::kUnchanged, 0, 0));
        asked.outs.emplace_back();
        asked.places.push_back(i);
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
    Asked asked;
    asked.calls.push_back(callOf(serve::call::kSmall, *far));
    asked.calls.front().bytes = std::min(limitBytes, serve::kCalledBytesLimit);
    std::string text;
    const auto results = askOnce(farHost(far->host), asked, 0, 1, &text);
    SHARDSCOPE_CHECK(statusOf(results.front()));
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

Result<std::unique_ptr<io::WriteFile>> FarFiles::create(const io::Path& path, uint32_t mode)
{
    if (isFar(path))
        return forward(notWritten(path));
    return ForwardingFileSystem::create(path, mode);
}

Result<std::unique_ptr<io::WriteFile>> FarFiles::openShared(const io::Path& path, uint32_t mode)
{
    if (isFar(path))
        return forward(notWritten(path));
    return ForwardingFileSystem::openShared(path, mode);
}

Status FarFiles::appendSynced(const io::Path& path, std::string_view text)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::appendSynced(path, text);
}

bool FarFiles::canShareBytes(const io::Path& file, const io::Path& folder)
{
    return !isFar(file) && !isFar(folder) && ForwardingFileSystem::canShareBytes(file, folder);
}

Status FarFiles::makeDirectory(const io::Path& path, uint32_t mode)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::makeDirectory(path, mode);
}

Status FarFiles::makeDirectories(const io::Path& path)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::makeDirectories(path);
}

Status FarFiles::removeFile(const io::Path& path)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::removeFile(path);
}

Status FarFiles::removeTree(const io::Path& path)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::removeTree(path);
}

Status FarFiles::rename(const io::Path& from, const io::Path& to)
{
    return isFar(from) || isFar(to) ? forward(notWritten(to)) : ForwardingFileSystem::rename(from, to);
}

Status FarFiles::renameNoReplace(const io::Path& from, const io::Path& to)
{
    return isFar(from) || isFar(to) ? forward(notWritten(to))
                                    : ForwardingFileSystem::renameNoReplace(from, to);
}

Status FarFiles::exchange(const io::Path& a, const io::Path& b)
{
    return isFar(a) || isFar(b) ? forward(notWritten(b)) : ForwardingFileSystem::exchange(a, b);
}

Status FarFiles::syncDirectory(const io::Path& path)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::syncDirectory(path);
}

Status FarFiles::setMode(const io::Path& path, uint32_t mode)
{
    return isFar(path) ? forward(notWritten(path)) : ForwardingFileSystem::setMode(path, mode);
}

Result<std::unique_ptr<io::FileLock>> FarFiles::lock(const io::Path& path, io::LockKind kind)
{
    if (isFar(path))
        return std::unique_ptr<io::FileLock>();
    return ForwardingFileSystem::lock(path, kind);
}

io::FileSystem& farAndOwnFiles()
{
    static FarFiles files(objects::objectsAndOwnFiles());
    return files;
}

} // namespace shardscope::far
