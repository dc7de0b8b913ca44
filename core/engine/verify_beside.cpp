// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify_beside.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/wrapper_files.h"
#include "core/io/sha256.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

Result<ManifestFile> readWhole(io::FileSystem& files, const io::Path& path, JobContext& job)
{
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    io::Sha256 sha;
    std::vector<uint8_t> chunk(kChunkBytes);
    for (uint64_t offset = 0; offset < file->size();) {
        SHARDSCOPE_CHECK(job.poll());
        const std::span<uint8_t> part(chunk.data(), std::min<uint64_t>(kChunkBytes, file->size() - offset));
        SHARDSCOPE_CHECK(file->readAt(offset, part));
        sha.update(part);
        offset += part.size();
        job.advance(part.size());
    }
    return ManifestFile{file->size(), sha.finishHex()};
}

void add(VerifyReport& report, std::string_view code, std::string message, const std::string& where,
    std::vector<std::string> evidence)
{
    report.problems.push_back({code, Severity::Error, std::move(message), where, std::move(evidence)});
}

} // namespace

Status verifyBeside(io::FileSystem& files, const Checkpoint& checkpoint, const Manifest& manifest,
    VerifyReport& report, JobContext& job)
{
    for (const auto& [path, promised] : manifest.files) {
        const std::string name = liesBesideTag(path) ? path.substr(kBesideTag.size()) : std::string();
        if (name.empty() || name == ".." || name.find('/') != std::string::npos)
            continue;
        const auto found = readWhole(files, checkpoint.runFolder / name, job);
        if (!found && found.error().code == ErrorCode::Cancelled)
            return forward(found.error());
        if (!found) {
            const bool absent = found.error().code == ErrorCode::NotFound;
            add(report, absent ? code::kRankMissing : code::kFileUnreadable,
                absent ? "the manifest names a file that is not there" : "the file cannot be read to its end",
                path, {describe(found.error())});
            continue;
        }
        ++report.files;
        report.bytes += found->bytes;
        if (found->bytes != promised.bytes || found->sha256 != promised.sha256)
            add(report, code::kRecordCorrupt, "the file is not the one the manifest names", path,
                {"sha256 " + found->sha256, "manifest " + promised.sha256});
    }
    return {};
}

} // namespace shardscope
