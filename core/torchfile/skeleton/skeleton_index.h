// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/torchfile/zip/kept_bytes.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A skeleton: everything of a checkpoint except its values, as one zip file for a bug report. All records
/// are in the folder `skeleton`:
///
///     shardscope.txt  what this is, for whoever unpacks it; the first record
///     skeleton.json   this index
///     check.json      what `shardscope check --json` found where the values were
///     kept/N          the bytes of file number N that were kept, one behind another
namespace shardscope {

inline constexpr std::string_view kSkeletonPrefix = "skeleton";
inline constexpr std::string_view kSkeletonAbout = "shardscope.txt";
inline constexpr std::string_view kSkeletonIndex = "skeleton.json";
inline constexpr std::string_view kSkeletonCheck = "check.json";
inline constexpr std::string_view kSkeletonSchema = "shardscope/skeleton/1";
std::string skeletonRecord(size_t file); ///< "kept/N"

/// One file of the checkpoint.
struct SkeletonFile {
    std::string path; ///< relative, with slashes: "run/global_step5/mp_rank_00_model_states.pt"
    uint64_t bytes = 0; ///< of the original
    int64_t modifiedNs = 0; ///< since the epoch
    std::vector<ByteExtent> kept; ///< ascending and disjoint; empty where only the size is known
    /// Why Shardscope could not read the original; opening it again gives this.
    std::optional<Error> unreadable;

    [[nodiscard]] uint64_t keptBytes() const;
};

struct SkeletonIndex {
    std::string version; ///< of the program that wrote it
    std::string kind; ///< zero2, zero3, …
    std::string tag;
    std::optional<std::string> latest; ///< what the pointer file said
    std::string open; ///< the path of the requested file or folder
    std::vector<std::string> redactedKeys; ///< of the client state
    std::vector<std::string> keptKeys;
    std::vector<SkeletonFile> files;
};

/// The index as JSON, one line per file. Names that are not UTF-8 are spelled with %HH (percentEncode()).
std::string skeletonIndexText(const SkeletonIndex& index);

/// Reads the index and verifies everything: paths are relative, plain and different, no file is another's
/// folder, extents are ascending, disjoint and inside their file. Damaged, Hostile or LimitExceeded;
/// Unsupported for a later schema. No document is built: memory is proportional to files and extents, at most
/// kMaxFiles and kMaxExtents.
Result<SkeletonIndex> parseSkeletonIndex(const std::string& text);

inline constexpr uint64_t kMaxIndexBytes = uint64_t{128} << 20;
inline constexpr size_t kMaxFiles = size_t{1} << 20;
inline constexpr size_t kMaxExtents = size_t{1} << 22;
/// Of one file: the longest pickle that is read, and room for headers.
inline constexpr uint64_t kMaxKeptBytes = uint64_t{512} << 20;

} // namespace shardscope
