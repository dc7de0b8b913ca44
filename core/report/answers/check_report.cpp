// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/check_report.h"

#include "core/report/answers/finding_report.h"
#include "core/report/json/json_writer.h"

namespace shardscope {

namespace {

void writeMeans(JsonWriter& json, const Meaning& means)
{
    json.objectField("means");
    json.textOrNull("loading", means.loading);
    json.textOrNull("resuming", means.resuming);
    json.textOrNull("exporting", means.exporting);
    json.endObject();
}

void writeDiagnosis(JsonWriter& json, const Diagnosis& diagnosis)
{
    json.field("name", diagnosis.name);
    json.textOrNull("letter", diagnosis.letter);
    json.field("silent", diagnosis.silent);
    writeMeans(json, diagnosis.means);
    json.textOrNull("remedy", diagnosis.remedy);
    json.textOrNull("no_remedy", diagnosis.noRemedy);
    json.textOrNull("threads", diagnosis.threads);
}

void writeFinding(JsonWriter& json, const DoctorFinding& made)
{
    const Finding& finding = made.finding;
    json.beginObject();
    json.field("code", finding.code);
    json.field("severity", severityName(finding.severity));
    json.field("message", finding.message);
    json.textOrNull("where", finding.where.text());
    json.textList("evidence", finding.evidence);
    writeDiagnosis(json, *made.diagnosis);
    if (made.command.empty()) {
        json.nullField("fix");
    } else {
        json.objectField("fix");
        json.field("code", finding.code);
        json.field("command", "shardscope " + made.command);
        json.endObject();
    }
    json.endObject();
}

void writeResult(JsonWriter& json, const CheckResult& result)
{
    json.beginObject();
    json.nameField("path", result.path);
    if (result.error) {
        json.objectField("error");
        writeErrorFields(json, *result.error);
        json.endObject();
        json.endObject();
        return;
    }
    json.nameField("checkpoint", result.folder.string());
    if (result.tag.empty())
        json.nullField("tag");
    else
        json.nameField("tag", result.tag);
    json.field("stopped", result.stopped);
    json.field("depth", checkDepthName(result.depth));
    json.objectField("not_read");
    json.field("bytes", result.bytesNotRead);
    json.textOrNull("what", result.partNotRead());
    json.endObject();
    json.objectField("seconds");
    for (size_t i = 0; i < result.tiers.size(); ++i) {
        if (result.tiers[i].done)
            json.field(checkDepthName(static_cast<CheckDepth>(i)), result.tiers[i].seconds);
    }
    json.endObject();
    json.arrayField("findings");
    for (const DoctorFinding& made : result.findings)
        writeFinding(json, made);
    json.endArray();
    json.endObject();
}

} // namespace

void writeCheckJson(
    const TextSink& sink, const std::vector<CheckResult>& results, std::optional<CheckDepth> depth)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/check/1");
    json.field("depth", depth ? checkDepthName(*depth) : "auto");
    json.arrayField("results");
    for (const CheckResult& result : results)
        writeResult(json, result);
    json.endArray();
    json.endObject();
    json.finish();
    sink("\n");
}

void writeDiagnosisListJson(const TextSink& sink)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/check/1");
    json.arrayField("diagnoses");
    for (const Diagnosis* diagnosis : diagnoses()) {
        json.beginObject();
        json.field("code", diagnosis->code);
        json.field("depth", checkDepthName(diagnosis->depth));
        json.field("severity", severityName(diagnosis->worst));
        json.field("repairs", diagnosis->repairs);
        writeDiagnosis(json, *diagnosis);
        json.endObject();
    }
    json.endArray();
    json.endObject();
    json.finish();
    sink("\n");
}

} // namespace shardscope
