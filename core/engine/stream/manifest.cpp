// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/manifest.h"

#include "core/describe/json_out.h"
#include "core/tensor/element_digest.h"

#include <nlohmann/json.hpp>

namespace shardscope {

namespace {

using Json = nlohmann::ordered_json;

std::string planText(const WritePlan& plan, const std::string& sourceRun)
{
    Json json = Json::parse(plan.description, nullptr, false);
    if (json.is_object() && !sourceRun.empty())
        json["source"]["run"] = sourceRun;
    return json.is_discarded() ? "null" : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void describeFile(JsonOut& out, const WrittenFile& file)
{
    uint64_t empty = 0;
    out.name("path", file.path);
    out.field("bytes", file.bytes);
    out.field("digest", file.digest);
    out.rows(
        "records", Row<WrittenRecord>(),
        [&](const auto& add) {
            for (const WrittenRecord& record : file.records)
                record.bytes == 0 ? static_cast<void>(++empty) : add(record);
        },
        [](JsonOut& row, const WrittenRecord& record) {
            row.name("name", record.name);
            row.field("bytes", record.bytes);
            row.field("crc32", record.crc32);
        });
    out.field("empty_records", empty);
}

/// Before the files: readers of marks read only the beginning (readMarks()).
void describeMark(JsonOut& out, const Finding& mark)
{
    std::vector<std::string> parts;
    for (const Place& part : mark.parts)
        parts.push_back(part.text());
    out.field("message", mark.message);
    out.field("where", mark.where.text());
    out.maybe(!parts.empty(), [&] { out.field("parts", parts); });
}

std::string textJson(std::string_view text)
{
    return jsonText([&](JsonWriter& json) { json.value(text); });
}

template <class T>
void writeRow(JsonWriter& json, const T& value, void (*describe)(JsonOut&, const T&))
{
    json.beginObject();
    JsonOut out(json);
    describe(out, value);
    json.endObject();
}

std::string fileText(const WrittenFile& file)
{
    return jsonText([&](JsonWriter& json) { writeRow(json, file, describeFile); });
}

std::string marksText(const std::vector<Finding>& marks)
{
    const std::string list = jsonText([&](JsonWriter& json) {
        json.beginArray();
        for (const Finding& mark : marks)
            writeRow(json, mark, describeMark);
        json.endArray();
    });
    return marks.empty() ? std::string() : ",\n\"marked\": " + list;
}

} // namespace

std::string manifestText(const WritePlan& plan, const std::vector<WrittenFile>& files,
    const std::string& fingerprint, const std::string& sourceRun)
{
    // One line per file: readable, and no tree of all files in memory.
    std::string out = "{\"schema\": \"shardscope/manifest/2\",\n\"verb\": " + textJson(plan.verb)
        + ",\n\"fingerprint\": " + (fingerprint.empty() ? "null" : textJson(fingerprint))
        + ",\n\"fingerprint_version\": " + std::to_string(static_cast<int>(kDigestVersion))
        + marksText(plan.marks) + ",\n\"plan\": " + planText(plan, sourceRun) + ",\n\"files\": [";
    for (size_t i = 0; i < files.size(); ++i)
        out += (i == 0 ? "\n" : ",\n") + fileText(files[i]);
    out += "\n]}\n";
    return out;
}

} // namespace shardscope
