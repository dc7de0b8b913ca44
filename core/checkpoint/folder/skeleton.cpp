// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/skeleton.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardscope {

bool isSkeleton(const Checkpoint& checkpoint)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
        [](const Finding& finding) { return finding.code == code::kSkeleton; });
}

void noteSkeleton(io::FileSystem& files, Checkpoint& checkpoint)
{
    if (holdsNoValues(files, checkpoint.tagFolder))
        checkpoint.findings.push_back({code::kSkeleton, Severity::Info,
            "it is a skeleton: structure without values, made for a bug report", {},
            {"the values of the client state are blanks, and checks that need values are not run"}});
}

namespace {

/// Marks come before the list of files, which may be very long.
constexpr uint64_t kHeadLimitBytes = uint64_t{1} << 20;
constexpr std::string_view kFileList = "\n\"files\": [";

std::string headOf(io::FileSystem& files, const io::Path& path)
{
    const auto file = files.openRead(path);
    if (!file)
        return {};
    std::string head(std::min((*file)->size(), kHeadLimitBytes), '\0');
    if (!(*file)->readAt(0, {reinterpret_cast<uint8_t*>(head.data()), head.size()}))
        return {};
    const size_t end = head.find(kFileList);
    return end == std::string::npos ? std::string() : head.substr(0, end) + "\"files\": []}";
}

std::string textOf(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? toValidUtf8(found->get<std::string>())
                                                       : std::string();
}

} // namespace

void readMarks(io::FileSystem& files, Checkpoint& out)
{
    if (holdsNoValues(files, out.tagFolder)) // a skeleton has only the manifest's size
        return noteSkeleton(files, out);
    const io::Path path = out.tagFolder / kManifestName;
    const auto info = files.stat(path);
    if (!info || info->type != io::FileType::Regular)
        return;
    const auto manifest = nlohmann::json::parse(headOf(files, path), nullptr, false);
    if (!manifest.is_object() || !manifest.contains("marked") || !manifest["marked"].is_array())
        return;
    for (const nlohmann::json& mark : manifest["marked"]) {
        if (!mark.is_object())
            continue;
        out.findings.push_back({code::kMarked, Severity::Warning, textOf(mark, "message"),
            Place::parsed(textOf(mark, "where")), {std::string("`") + kManifestName + "` says so"}});
        if (const auto parts = mark.find("parts"); parts != mark.end() && parts->is_array())
            for (const nlohmann::json& part : *parts)
                if (part.is_string())
                    out.findings.back().parts.push_back(Place::parsed(toValidUtf8(part.get<std::string>())));
    }
}

} // namespace shardscope
