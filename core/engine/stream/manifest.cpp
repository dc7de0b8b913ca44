// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/manifest.h"

#include "core/base/text.h"
#include "core/tensor/element_digest.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

void putName(Json& object, const char* key, const std::string& raw)
{
    object[key] = toValidUtf8(raw);
    if (!isValidUtf8(raw))
        object[std::string(key) + "_hex"] = toHex(raw);
}

std::string dump(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string planText(const WritePlan& plan, const std::string& sourceRun)
{
    Json json = Json::parse(plan.description, nullptr, false);
    if (json.is_object() && !sourceRun.empty())
        json["source"]["run"] = sourceRun;
    return json.is_discarded() ? "null" : dump(json);
}

std::string fileText(const WrittenFile& file)
{
    Json json;
    putName(json, "path", file.path);
    json["bytes"] = file.bytes;
    json["digest"] = file.digest;
    auto& records = json["records"] = Json::array();
    uint64_t empty = 0;
    for (const WrittenRecord& record : file.records) {
        if (record.bytes == 0) {
            ++empty;
            continue;
        }
        Json entry;
        putName(entry, "name", record.name);
        entry["bytes"] = record.bytes;
        entry["crc32"] = record.crc32;
        records.push_back(std::move(entry));
    }
    json["empty_records"] = empty;
    return dump(json);
}

/// Before the files: readers of marks read only the beginning (core/checkpoint/folder/marks.cpp).
std::string marksText(const WritePlan& plan)
{
    if (plan.marks.empty())
        return {};
    Json marks = Json::array();
    for (const Finding& mark : plan.marks) {
        Json entry{{"message", toValidUtf8(mark.message)}, {"where", toValidUtf8(mark.where.text())}};
        for (const Place& part : mark.parts)
            entry["parts"].push_back(toValidUtf8(part.text()));
        marks.push_back(std::move(entry));
    }
    return ",\n\"marked\": " + dump(marks);
}

} // namespace

std::string manifestText(const WritePlan& plan, const std::vector<WrittenFile>& files,
    const std::string& fingerprint, const std::string& sourceRun)
{
    // One line per file: readable, and no tree of all files in memory.
    std::string out = "{\"schema\": \"shardscope/manifest/2\",\n\"verb\": " + dump(plan.verb)
        + ",\n\"fingerprint\": " + (fingerprint.empty() ? "null" : dump(fingerprint))
        + ",\n\"fingerprint_version\": " + std::to_string(static_cast<int>(kDigestVersion)) + marksText(plan)
        + ",\n\"plan\": " + planText(plan, sourceRun) + ",\n\"files\": [";
    for (size_t i = 0; i < files.size(); ++i)
        out += (i == 0 ? "\n" : ",\n") + fileText(files[i]);
    out += "\n]}\n";
    return out;
}

} // namespace shardscope
