// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/skeleton/skeleton_index.h"

#include "core/base/text.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

std::string asJson(std::string_view text)
{
    return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string list(const std::vector<std::string>& texts)
{
    std::string out;
    for (const std::string& text : texts)
        out += (out.empty() ? "" : ", ") + asJson(text);
    return "[" + out + "]";
}

std::string fileText(const SkeletonFile& file)
{
    std::string out = R"({"path": )" + asJson(percentEncode(file.path)) + R"(, "bytes": )"
        + std::to_string(file.bytes) + R"(, "mtime_ns": )" + std::to_string(file.modifiedNs)
        + R"(, "kept": [)";
    for (size_t i = 0; i < file.kept.size(); ++i)
        out += (i == 0 ? "" : ", ") + std::to_string(file.kept[i].offset) + ", "
            + std::to_string(file.kept[i].bytes);
    out += "]";
    if (file.unreadable)
        out += R"(, "unreadable": {"code": )" + asJson(errorCodeName(file.unreadable->code))
            + R"(, "message": )" + asJson(file.unreadable->message) + "}";
    return out + "}";
}

} // namespace

std::string skeletonRecord(size_t file)
{
    return "kept/" + std::to_string(file);
}

uint64_t SkeletonFile::keptBytes() const
{
    uint64_t out = 0;
    for (const ByteExtent& extent : kept)
        out += extent.bytes;
    return out;
}

std::string skeletonIndexText(const SkeletonIndex& index)
{
    std::string out = R"({"schema": )" + asJson(kSkeletonSchema) + R"(, "version": )" + asJson(index.version)
        + R"(, "kind": )" + asJson(index.kind) + R"(, "tag": )" + asJson(percentEncode(index.tag))
        + R"(, "latest": )" + (index.latest ? asJson(percentEncode(*index.latest)) : "null") + R"(, "open": )"
        + asJson(percentEncode(index.open)) + R"(, "redacted_keys": )" + list(index.redactedKeys)
        + R"(, "kept_keys": )" + list(index.keptKeys) + R"(, "files": [)";
    for (size_t i = 0; i < index.files.size(); ++i)
        out += (i == 0 ? "\n" : ",\n") + fileText(index.files[i]);
    return out + "\n]}\n";
}

} // namespace shardscope
