// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/files_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace shardscope {

namespace {

std::string crcText(const ZipRecord& record)
{
    return record.crcPresent ? fmt::format("{:08x}", record.crc32) : "";
}

} // namespace

void describe(auto& out, const UsedRecord& used)
{
    out.is("Record", "A record of a torch file.");
    out.name("name", used.record.name);
    out.field("offset", used.record.payloadOffset);
    out.field("bytes", used.record.bytes);
    out.textOrNull("crc32", crcText(used.record));
    out.field("damaged", used.record.damaged);
    out.field("used_by", used.usedBy);
}

namespace {

using RecordsOf = std::function<std::vector<UsedRecord>(FileId)>;

std::vector<FileId> filesAsked(const Checkpoint& checkpoint, const FilesQuestion& question)
{
    std::vector<FileId> out = question.only.value_or(std::vector<FileId>());
    for (uint32_t i = 0; !question.only && i < checkpoint.files.size(); ++i)
        out.push_back(FileId{i});
    return out;
}

void describeFiles(
    auto& out, const AnswerContext& context, const FilesQuestion& question, const RecordsOf& recordsOf)
{
    const Checkpoint& checkpoint = context.checkpoint;
    out.answer("files", "FilesAnswer", "The files of a checkpoint.");
    describeSubject(out, context);
    describeReport(out, context.report);
    out.field("supported", checkpoint.supported);
    out.textOrNull("why_not", checkpoint.whyNot);
    out.list("files", filesAsked(checkpoint, question), [&](auto& each, FileId id) {
        const CheckpointFile& file = checkpoint.files[index(id)];
        each.is("File", "A file of the checkpoint.");
        each.name("path", file.name);
        each.word("role", file.role, fileRoleName);
        each.field("bytes", file.identity.bytes);
        each.field("rank", file.rank);
        each.field("records", file.recordCount, "number of zip records");
        each.word("status", file.status, fileStatusName);
        each.maybe(question.records, [&] {
            each.rows(
                "zip_records", Row<UsedRecord>{},
                [&](const auto& add) { std::ranges::for_each(recordsOf(id), add); }, described);
        });
    });
    out.field("findings", checkpoint.findings);
}

std::string firstUse(const std::vector<std::string>& usedBy)
{
    if (usedBy.empty())
        return "-";
    return usedBy.size() == 1 ? usedBy[0] : fmt::format("{} and {} more", usedBy[0], usedBy.size() - 1);
}

void writeRecordTable(const TextSink& sink, const TextStyle& style, const std::vector<UsedRecord>& records)
{
    using Align = TextTable::Align;
    TextTable table({{"record"}, {"offset", Align::Right}, {"bytes", Align::Right}, {"crc32"}, {"used by"}});
    for (const auto& [record, usedBy] : records) {
        table.add({record.name, std::to_string(record.payloadOffset), std::to_string(record.bytes),
            record.damaged          ? "damaged"
                : record.crcPresent ? crcText(record)
                                    : "none",
            firstUse(usedBy)});
    }
    table.write(sink, style, "  ");
}

} // namespace

void writeFilesJson(const TextSink& sink, const AnswerContext& context, const FilesQuestion& question,
    io::FileSystem& files, JobContext& job)
{
    writeObject(sink, [&](JsonOut& out) {
        describeFiles(out, context, question,
            [&](FileId file) { return recordsOf(files, context.checkpoint, file, job); });
    });
}

std::string filesSchema()
{
    return schemaOf(
        "files", [](SchemaOut& out) { describeFiles(out, schemaContext(), {.records = true}, {}); });
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
        const std::vector<UsedRecord> records = recordsOf(files, checkpoint, FileId{i}, job);
        if (records.empty())
            continue;
        TextTable heading({{checkpoint.files[i].name}});
        sink("\n");
        heading.write(sink, style);
        writeRecordTable(sink, style, records);
    }
}

} // namespace shardscope
