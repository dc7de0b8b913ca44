// SPDX-License-Identifier: Apache-2.0
#include "core/io/file_system.h"

#include "core/io/overlapping_calls.h"

#include <optional>

namespace shardscope::io {
namespace {

/// The results of `call` for every index, many at a time where it waits.
template <class T, class Call>
std::vector<T> results(size_t count, const Call& call)
{
    std::vector<std::optional<T>> made(count);
    overlapCalls(count, [&](size_t i) { made[i].emplace(call(i)); });
    std::vector<T> out;
    out.reserve(count);
    for (std::optional<T>& one : made)
        out.push_back(std::move(*one));
    return out;
}

} // namespace

std::vector<FileSystem::Opened> FileSystem::openReadAll(std::span<const Path> paths)
{
    return results<Opened>(paths.size(), [&](size_t i) { return openRead(paths[i]); });
}

std::vector<Result<FileInfo>> FileSystem::statAll(std::span<const Path> paths)
{
    return results<Result<FileInfo>>(paths.size(), [&](size_t i) { return stat(paths[i]); });
}

std::vector<Status> FileSystem::readAll(std::span<const ReadRange> ranges)
{
    return results<Status>(
        ranges.size(), [&](size_t i) { return ranges[i].file->readAt(ranges[i].offset, ranges[i].out); });
}

std::vector<Status> FileSystem::checkAllUnchanged(std::span<const ReadFile* const> files)
{
    return results<Status>(files.size(), [&](size_t i) { return files[i]->checkUnchanged(); });
}

} // namespace shardscope::io
