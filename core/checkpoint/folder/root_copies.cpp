// SPDX-License-Identifier: Apache-2.0
// Files that several roots hold. With storage local to each node, ranks that share a model file write it on
// every node (runtime/engine.py, _configure_checkpointing).
#include "core/checkpoint/folder/root_copies.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"

#include <map>

namespace shardscope {

namespace {

enum class Copies { Same, OtherPickle, Other, Unknown };

/// Sizes and checksums, separately for storages and for everything else. Pickles of the same state may
/// differ: each rank keeps its own client state.
struct Contents {
    std::map<std::string_view, std::pair<uint64_t, uint32_t>> storages;
    std::map<std::string_view, std::pair<uint64_t, uint32_t>> others;
};

Contents contentsOf(const ZipDirectory& zip)
{
    Contents out;
    for (const ZipRecord& record : zip.records()) {
        // A digest of the other records. It depends on names, too.
        if (record.name == ".data/serialization_id")
            continue;
        auto& into = record.name.starts_with("data/") ? out.storages : out.others;
        into.emplace(record.name, std::pair(record.bytes, record.crcPresent ? record.crc32 : 0));
    }
    return out;
}

Result<ZipDirectory> directoryOf(const Reading& reading, const io::Path& path)
{
    SHARDSCOPE_TRY(const auto file, reading.files.openRead(path));
    return ZipDirectory::read(*file, ReadMode::Strict, reading.job);
}

Copies compare(const Reading& reading, const io::Path& left, const io::Path& right)
{
    const auto first = reading.files.stat(left);
    const auto second = reading.files.stat(right);
    if (!first || !second)
        return Copies::Unknown;
    if (first->identity.device == second->identity.device && first->identity.inode == second->identity.inode)
        return Copies::Same;
    const auto a = directoryOf(reading, left);
    const auto b = directoryOf(reading, right);
    if (!a || !b)
        return Copies::Unknown;
    const Contents here = contentsOf(*a);
    const Contents there = contentsOf(*b);
    if (here.storages != there.storages)
        return Copies::Other;
    return here.others == there.others ? Copies::Same : Copies::OtherPickle;
}

} // namespace

void checkCopy(const Reading& reading, const CheckpointFile& file, const io::Path& other)
{
    const std::vector<std::string> places{
        "read from " + file.path.parent_path().string(), "also in " + other.parent_path().string()};
    switch (compare(reading, file.path, other)) {
    case Copies::Same:
        return;
    case Copies::OtherPickle:
        reading.add(code::kRankForeign, Severity::Warning,
            "two roots hold this file: its tensors are equal, its other values differ; the file of the first "
            "root is used",
            file.name, places);
        return;
    case Copies::Other:
        reading.add(code::kRankForeign, Severity::Error,
            "two roots hold different files of this name; they are of different steps or runs", file.name,
            places);
        return;
    case Copies::Unknown:
        reading.add(code::kFileUnreadable, Severity::Warning,
            "two roots hold this file, and one of them cannot be read to compare them; the file of the first "
            "root is used",
            file.name, places);
        return;
    }
}

} // namespace shardscope
