// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/files_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

void writeRecords(JsonWriter& json, const RecordUse& use)
{
    json.arrayField("zip_records");
    for (size_t i = 0; i < use.records.size(); ++i) {
        const ZipRecord& record = use.records[i];
        json.beginObject();
        json.nameField("name", record.name);
        json.field("offset", record.payloadOffset);
        json.field("bytes", record.bytes);
        if (record.crcPresent)
            json.field("crc32", fmt::format("{:08x}", record.crc32));
        else
            json.nullField("crc32");
        json.field("damaged", record.damaged);
        json.textList("used_by", use.usedBy[i]);
        json.endObject();
    }
    json.endArray();
}

std::string firstUse(const std::vector<std::string>& usedBy)
{
    if (usedBy.empty())
        return "-";
    return usedBy.size() == 1 ? usedBy[0] : fmt::format("{} and {} more", usedBy[0], usedBy.size() - 1);
}

void writeRecordTable(const TextSink& sink, const TextStyle& style, const RecordUse& use)
{
    using Align = TextTable::Align;
    TextTable table({{"record"}, {"offset", Align::Right}, {"bytes", Align::Right}, {"crc32"}, {"used by"}});
    for (size_t i = 0; i < use.records.size(); ++i) {
        const ZipRecord& record = use.records[i];
        table.add({record.name, std::to_string(record.payloadOffset), std::to_string(record.bytes),
            record.damaged          ? "damaged"
                : record.crcPresent ? fmt::format("{:08x}", record.crc32)
                                    : "none",
            firstUse(use.usedBy[i])});
    }
    table.write(sink, style, "  ");
}

} // namespace

void writeFilesJson(const TextSink& sink, const AnswerContext& context, const FilesQuestion& question,
    io::FileSystem& files, JobContext& job)
{
    const Checkpoint& checkpoint = context.checkpoint;
    JsonWriter json(sink);
    beginAnswer(json, "files", context);
    json.field("supported", checkpoint.supported);
    json.textOrNull("why_not", checkpoint.whyNot);
    json.arrayField("files");
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
        const CheckpointFile& file = checkpoint.files[i];
        json.beginObject();
        json.nameField("path", file.name);
        json.field("role", fileRoleName(file.role));
        json.field("bytes", file.identity.bytes);
        if (file.rank)
            writeRank(json, "rank", *file.rank);
        else
            json.nullField("rank");
        json.field("records", file.recordCount);
        json.field("status", fileStatusName(file.status));
        if (question.records)
            writeRecords(json, recordsOf(files, checkpoint, FileId{i}, job));
        json.endObject();
    }
    json.endArray();
    writeFindings(json, "findings", checkpoint.findings);
    endAnswer(json, sink);
}

void writeFilesText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const FilesQuestion& question, io::FileSystem& files, JobContext& job)
{
    const Checkpoint& checkpoint = context.checkpoint;
    using Align = TextTable::Align;
    TextTable table({{"file"}, {"role"}, {"rank"}, {"size", Align::Right}, {"bytes", Align::Right},
        {"records", Align::Right}, {"status"}});
    const auto row = [&](TextTable& into, const CheckpointFile& file) {
        into.add({file.name, std::string(fileRoleName(file.role)), file.rank ? rankText(*file.rank) : "-",
            formatBytes(file.identity.bytes), formatCount(file.identity.bytes), formatCount(file.recordCount),
            std::string(fileStatusName(file.status))});
    };
    for (const CheckpointFile& file : checkpoint.files)
        row(table, file);
    table.write(sink, style);
    if (!question.records)
        return;
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
        const RecordUse use = recordsOf(files, checkpoint, FileId{i}, job);
        if (use.records.empty())
            continue;
        TextTable heading({{checkpoint.files[i].name}});
        sink("\n");
        heading.write(sink, style);
        writeRecordTable(sink, style, use);
    }
}

} // namespace shardscope
