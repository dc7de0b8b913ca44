// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/io/file_system.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::serve {

/// What is asked of one path. Each is a call of io::FileSystem or of one of its open files.
namespace call {
inline constexpr std::string_view kStat = "stat"; ///< `info`
inline constexpr std::string_view kList = "list"; ///< `entries` of a folder
inline constexpr std::string_view kCanonical = "canonical"; ///< `path`
inline constexpr std::string_view kSpace = "space"; ///< `space`
inline constexpr std::string_view kOpen = "open"; ///< `info` of a regular file that can be read
inline constexpr std::string_view kRead = "read"; ///< data: `bytes` from `offset` of the file `identity`
inline constexpr std::string_view kSmall = "small"; ///< data: the whole file, of `bytes` at most
inline constexpr std::string_view kUnchanged = "unchanged"; ///< whether the file still is `identity`
} // namespace call
inline constexpr std::array kCalls{call::kStat, call::kList, call::kCanonical, call::kSpace, call::kOpen,
    call::kRead, call::kSmall, call::kUnchanged};

/// Bytes that the reading calls of one request ask for together, at most.
inline constexpr uint64_t kCalledBytesLimit = uint64_t{64} << 20;
inline constexpr size_t kCallsLimit = 65536; ///< of one request

/// One call of a request ask::kFiles. Nothing is kept between two of them, so that a client can go on after
/// its connection was lost: a file is named by path and identity, and read only if it still is that file.
struct FileCall {
    std::string call;
    std::string path; ///< absolute, or below the user's home: "~", "~/runs"
    io::FileIdentity identity = {};
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

/// What became of it. The data of all calls follow each other, in their order.
struct FileResult {
    std::optional<Error> error = {};
    bool isOutage = false; ///< the error says nothing about the data (core/io/outage_watch.h)
    io::FileInfo info = {};
    std::vector<io::DirectoryEntry> entries = {};
    std::string path = {};
    io::Space space = {};
    uint64_t bytes = 0; ///< of the data
};

/// The payload of a request.
std::string fileCallsText(std::span<const FileCall> calls);
/// Damaged if it is no such payload, LimitExceeded for too many calls or bytes.
Result<std::vector<FileCall>> parseFileCalls(std::string_view text);
/// The payload of the last frame.
std::string fileResultsText(std::span<const FileCall> calls, std::span<const FileResult> results);
/// Hostile unless there is exactly one result for each call, with names that are one part of a path, an
/// absolute path where one was asked for, and no more bytes than were asked for.
Result<std::vector<FileResult>> parseFileResults(std::string_view text, std::span<const FileCall> calls);
/// The error that the last frame of a request has. Damaged if it is none.
Error parseError(std::string_view text);
std::string fileCallsSchema();
std::string fileResultsSchema();

} // namespace shardscope::serve
