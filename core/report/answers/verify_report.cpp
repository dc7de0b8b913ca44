// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/verify_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

void describeVerify(
    auto& out, const AnswerContext& context, const VerifyReport& report, std::string_view against)
{
    out.answer("verify", "VerifyAnswer", "Whether every byte is as the manifest and checksums say.");
    describeSubject(out, context);
    out.maybe(!against.empty(), [&] { out.name("against", against); });
    out.field("ok", report.ok);
    out.field("manifest", report.manifest);
    out.field("files", report.files);
    out.field("bytes", report.bytes);
    out.textOrNull("fingerprint", report.fingerprint);
    out.field(
        "fingerprint_version", static_cast<uint64_t>(report.fingerprintVersion), kFingerprintVersionText);
    out.field("problems", report.problems);
    describeCompute(out, context);
}

} // namespace

void writeVerifyJson(
    const TextSink& sink, const AnswerContext& context, const VerifyReport& report, std::string_view against)
{
    writeObject(sink, [&](JsonOut& out) { describeVerify(out, context, report, against); });
}

std::string verifySchema()
{
    return schemaOf("verify", [](SchemaOut& out) { describeVerify(out, schemaContext(), {}, {}); });
}

void writeVerifyText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const VerifyReport& report, std::string_view against)
{
    const std::string name = printable(checkpointFolder(context.checkpoint));
    sink((report.ok ? style.green("verified") : style.red("verification failed")) + "  " + name + "\n");
    TextFields fields;
    fields.add("read",
        fmt::format("{} files, {} ({} bytes)", formatCount(report.files), formatBytes(report.bytes),
            formatCount(report.bytes)));
    fields.add("checked",
        report.manifest ? std::string(report.digest == io::DigestKind::Sha256 ? "SHA-256" : "XXH3-128")
                + " of every file against the manifest, CRC of every record"
                        : "CRC of every record and the structure; there is no manifest to compare with");
    if (!against.empty())
        fields.add("against", printable(against));
    if (!report.fingerprint.empty())
        fields.add("fingerprint", report.fingerprint);
    fields.add("problems", findingCountText(report.problems));
    fields.write(sink, style, "  ");
    writeFindingsText(sink, style, report.problems);
}

} // namespace shardscope
