// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/verify_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

void writeVerifyJson(
    const TextSink& sink, const AnswerContext& context, const VerifyReport& report, std::string_view against)
{
    JsonWriter json(sink);
    beginAnswer(json, "verify", context);
    if (!against.empty())
        json.nameField("against", against);
    json.field("ok", report.ok);
    json.field("manifest", report.manifest);
    json.field("files", report.files);
    json.field("bytes", report.bytes);
    json.textOrNull("fingerprint", report.fingerprint);
    json.field("fingerprint_version", static_cast<uint64_t>(report.fingerprintVersion));
    writeFindings(json, "problems", report.problems);
    writeCompute(json, context);
    endAnswer(json, sink);
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
