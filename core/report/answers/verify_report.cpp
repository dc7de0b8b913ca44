// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/verify_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

std::string_view manifestUseName(ManifestUse use)
{
    switch (use) {
    case ManifestUse::Absent:
        return "absent";
    case ManifestUse::Unreadable:
        return "unreadable";
    case ManifestUse::Damaged:
        return "damaged";
    case ManifestUse::Compared:
        break;
    }
    return "compared";
}

/// Empty if no file's digest was compared.
std::string_view digestName(const VerifyReport& report)
{
    if (!report.isCompared())
        return {};
    return report.digest == io::DigestKind::Sha256 ? "SHA-256" : "XXH3-128";
}

void describeReport(auto& out, ConstOr<VerifyReport> auto& report)
{
    out.field("ok", report.ok);
    bool isCompared = report.isCompared();
    out.field("manifest", isCompared, "every file was compared with it");
    out.word("manifest_use", report.manifest, manifestUseName);
    std::string digest(digestName(report));
    out.wordOrNull("digest", digest, {"SHA-256", "XXH3-128"},
        "of every file, that was compared with the manifest; null if none was");
    out.field("crc", report.crc,
        "the CRC of every record that has one and the structure of every file were checked");
    out.field("lacks_crc", report.lacksCrc, "there are records without one");
    out.field("files", report.files);
    out.field("bytes", report.bytes);
    out.textOrNull("fingerprint", report.fingerprint);
    auto version = static_cast<uint64_t>(report.fingerprintVersion);
    out.field("fingerprint_version", version, kFingerprintVersionText);
    out.field("problems", report.problems);
    if constexpr (kReads<decltype(out)>) {
        report.fingerprintVersion = static_cast<DigestVersion>(version);
        report.digest = digest.empty() ? io::DigestKind::None
            : digest == "SHA-256"      ? io::DigestKind::Sha256
                                       : io::DigestKind::Xxh3;
        if (version == 0 || version > static_cast<uint64_t>(kDigestVersion))
            out.refuse("fingerprint_version", "is of no version that this build knows");
        if (!report.fingerprint.empty() && !parseDigest(report.fingerprint))
            out.refuse("fingerprint", "is not 32 lower-case hex digits");
        if (!report.ok && report.problems.empty())
            out.refuse("problems", "has none, though it is not ok");
    }
}

void describeVerify(
    auto& out, const AnswerContext& context, const VerifyReport& report, std::string_view against)
{
    out.answer("verify", "VerifyAnswer", "Whether every byte is as the manifest and checksums say.");
    describeSubject(out, context);
    out.maybe(!against.empty(), [&] { out.name("against", against); });
    describeReport(out, report);
    describeCompute(out, context);
}

} // namespace

std::string checkedText(const VerifyReport& report)
{
    const std::string digests
        = report.isCompared() ? fmt::format("{} of every file against the manifest", digestName(report)) : "";
    if (!report.crc)
        return digests;
    const std::string crc
        = report.lacksCrc ? "the CRC of every record that has one" : "the CRC of every record";
    return digests.empty() ? crc + " and the structure of every file" : digests + ", " + crc;
}

std::string noManifestText(const VerifyReport& report)
{
    switch (report.manifest) {
    case ManifestUse::Absent:
        return "there is no manifest (shardscope.json) to compare with";
    case ManifestUse::Unreadable:
        return "the manifest (shardscope.json) cannot be read";
    case ManifestUse::Damaged:
        return "the manifest (shardscope.json) is damaged";
    case ManifestUse::Compared:
        break;
    }
    return {};
}

void writeVerifyJson(
    const TextSink& sink, const AnswerContext& context, const VerifyReport& report, std::string_view against)
{
    writeObject(sink, [&](JsonOut& out) { describeVerify(out, context, report, against); });
}

Result<VerifyReport> parseVerify(std::string_view json)
{
    std::string problem;
    VerifyReport out;
    JsonIn in(JsonNode::parse(json), problem);
    describeReport(in, out);
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "the report of the other host cannot be read: " + problem);
    return out;
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
    const std::string checked = checkedText(report);
    const std::string why = noManifestText(report);
    fields.add("checked", (checked.empty() ? "nothing" : checked) + (why.empty() ? "" : "; " + why));
    if (!against.empty())
        fields.add("against", printable(against));
    if (!report.fingerprint.empty())
        fields.add("fingerprint", report.fingerprint);
    fields.add("problems", findingCountText(report.problems));
    fields.write(sink, style, "  ");
    writeFindingsText(sink, style, report.problems);
}

} // namespace shardscope
