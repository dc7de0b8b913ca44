// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify_others.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/wrapper_files.h"

#include <algorithm>

namespace shardscope {

Result<ManifestFile> readManifestFile(
    io::FileSystem& files, const io::Path& path, io::DigestKind kind, JobContext& job)
{
    constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
    SHARDSCOPE_TRY(const auto file, files.openRead(path));
    io::ContentDigest digest(kind);
    std::vector<uint8_t> chunk(kChunkBytes);
    for (uint64_t offset = 0; offset < file->size();) {
        SHARDSCOPE_CHECK(job.poll());
        const std::span<uint8_t> part(chunk.data(), std::min<uint64_t>(kChunkBytes, file->size() - offset));
        SHARDSCOPE_CHECK(file->readAt(offset, part));
        digest.update(part);
        offset += part.size();
        job.advance(part.size());
    }
    return ManifestFile{file->size(), digest.finish()};
}

namespace {

void add(VerifyReport& report, std::string_view code, std::string message, const std::string& where,
    std::vector<std::string> evidence)
{
    report.problems.push_back({code, Severity::Error, std::move(message), where, std::move(evidence)});
}

/// Compares one file with its entry in the manifest.
Status checkPromise(
    const VerifyRun& run, const io::Path& path, const std::string& name, const ManifestFile& promised)
{
    VerifyReport& report = run.report;
    const auto found = readManifestFile(run.files, path, io::digestKindOf(promised.digest), run.job);
    if (!found && found.error().code == ErrorCode::Cancelled)
        return forward(found.error());
    if (!found) {
        const bool absent = found.error().code == ErrorCode::NotFound;
        add(report, absent ? code::kRankMissing : code::kFileUnreadable,
            absent ? "a file of the manifest is missing" : "the file cannot be read to its end", name,
            {describe(found.error())});
        return {};
    }
    ++report.files;
    report.bytes += found->bytes;
    if (found->bytes != promised.bytes || found->digest != promised.digest)
        add(report, code::kRecordCorrupt, "the file differs from the manifest", name,
            {"here " + found->digest, "manifest " + promised.digest});
    return {};
}

bool isPlain(const std::string& name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

/// Plain names separated by '/'.
bool isInside(const std::string& path)
{
    for (size_t begin = 0;;) {
        const size_t end = path.find('/', begin);
        if (!isPlain(path.substr(begin, end == std::string::npos ? end : end - begin)))
            return false;
        if (end == std::string::npos)
            return true;
        begin = end + 1;
    }
}

} // namespace

Status verifyOthers(const VerifyRun& run, const Checkpoint& checkpoint, const Manifest& manifest,
    const std::vector<std::string>& names)
{
    for (const std::string& path : names) {
        const bool isNext = isNextToTag(path);
        const std::string name = isNext ? path.substr(kNextToTag.size()) : path;
        if (isNext ? !isPlain(name) : !isInside(name)) {
            add(run.report, code::kForeignFile, "the manifest leads out of its folder", path, {});
            continue;
        }
        const io::Path folder = isNext ? checkpoint.runFolder : checkpoint.tagFolder;
        SHARDSCOPE_CHECK(checkPromise(run, folder / name, path, manifest.files.at(path)));
    }
    return {};
}

Status verifyExported(const VerifyRun& run, const io::Path& folder, const Manifest& manifest)
{
    uint64_t bytes = 0;
    for (const auto& [path, promised] : manifest.files)
        bytes += promised.bytes;
    run.job.beginPhase("verifying", bytes);
    for (const auto& [path, promised] : manifest.files) {
        if (isInside(path))
            SHARDSCOPE_CHECK(checkPromise(run, folder / path, path, promised));
        else
            add(run.report, code::kForeignFile, "the manifest leads out of its folder", path, {});
    }
    return {};
}

} // namespace shardscope
