// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/check_context.h"

#include "core/base/parallel.h"
#include "core/torchfile/zip/zip_directory.h"

#include <algorithm>

namespace shardscope {

namespace {

FileHeader readHeader(const CheckContext& context, const FolderEntry& entry)
{
    FileHeader out;
    out.name = entry.name;
    const auto file = context.files.openRead(context.found.tagFolder / entry.name);
    if (!file) {
        out.unreadable = file.error();
        return out;
    }
    out.bytes = (*file)->size();
    out.head.resize(std::min<uint64_t>(out.bytes, kSniffBytes));
    const std::span<uint8_t> head(reinterpret_cast<uint8_t*>(out.head.data()), out.head.size());
    if (!head.empty()) {
        if (auto read = (*file)->readAt(0, head); !read) {
            out.unreadable = read.error();
            return out;
        }
    }
    out.kind = sniffFile(head, out.bytes);
    if (out.kind.torchZip) {
        if (auto end = ZipDirectory::readEnd(**file); !end)
            out.noEnd = end.error();
    }
    return out;
}

} // namespace

Result<std::vector<FolderEntry>> folderEntries(io::FileSystem& files, const io::Path& folder)
{
    std::vector<FolderEntry> out;
    const auto entries = files.list(folder);
    if (!entries && entries.error().code == ErrorCode::NotFound)
        return out;
    if (!entries)
        return forward(entries.error());
    for (const io::DirectoryEntry& entry : *entries) {
        FolderEntry made;
        made.name = entry.name;
        made.isFolder = entry.type == io::FileType::Directory;
        if (!made.isFolder) {
            if (const auto info = files.stat(folder / entry.name)) {
                made.isFolder = info->type == io::FileType::Directory;
                made.identity = info->identity;
            }
        }
        if (!made.isFolder)
            made.parsed = parseCheckpointFileName(entry.name);
        out.push_back(std::move(made));
    }
    return out;
}

Result<std::vector<FileHeader>> readHeaders(const CheckContext& context, unsigned jobs)
{
    std::vector<const FolderEntry*> wanted;
    for (const FolderEntry& entry : context.tag) {
        if (entry.parsed && !entry.isFolder && !entry.parsed->fastWriterPart)
            wanted.push_back(&entry);
    }
    std::vector<FileHeader> out(wanted.size());
    SHARDSCOPE_CHECK(parallelFor(wanted.size(), jobs, context.job, [&](size_t i) -> Status {
        out[i] = readHeader(context, *wanted[i]);
        return {};
    }));
    return out;
}

} // namespace shardscope
