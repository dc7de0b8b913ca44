// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/emit_report.h"

#include "core/base/text.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

void describeStart(auto& out, ConstOr<std::string> auto& plan)
{
    out.answer("emit", "EmitAnswer", "What was emitted of one output file, or of all with --combine.");
    out.field("plan", plan, "the plan's id");
}

void describeOne(auto& out, ConstOr<Emitted> auto& emitted)
{
    out.name("file", emitted.file, "without --combine: relative to the plan's target");
    out.field("bytes", emitted.bytes);
    out.field("digest", emitted.digest, "without --combine: of its content, as in the manifest");
}

void describeSums(auto& out, ConstOr<Emitted> auto& emitted)
{
    out.field("sums", emitted.sums,
        "with --digest: digests of the elements and checksums of the sources, for --combine alone");
}

void describeSum(auto& out, const EmittedSum& sum)
{
    out.field("files", sum.files, "with --combine: different files that were emitted");
    out.field("bytes", sum.bytes);
    std::vector<std::string> missing;
    for (const std::string& path : sum.missing)
        missing.push_back(toValidUtf8(path));
    out.field("missing", missing, "with --combine: files of the plan that were not emitted");
    out.field("fingerprint", sum.fingerprint,
        "with --combine: of the training state; null while files are missing, and for plans that write none");
}

} // namespace

void writeEmittedJson(const TextSink& sink, const Emitted& emitted, bool sums)
{
    writeObject(sink, [&](JsonOut& out) {
        describeStart(out, emitted.plan);
        describeOne(out, emitted);
        if (sums)
            describeSums(out, emitted);
    });
}

void writeEmittedSumJson(const TextSink& sink, const EmittedSum& sum)
{
    writeObject(sink, [&](JsonOut& out) {
        describeStart(out, sum.plan);
        describeSum(out, sum);
    });
}

std::string emitSchema()
{
    return schemaOf("emit", [](SchemaOut& out) {
        const Emitted emitted;
        describeStart(out, emitted.plan);
        out.either(
            true,
            [&] {
                describeOne(out, emitted);
                out.maybe(true, [&] { describeSums(out, emitted); });
            },
            [&] { describeSum(out, {}); });
    });
}

Result<Emitted> parseEmitted(const std::string& text, const std::string& path)
{
    const JsonNode root = JsonNode::parse(text);
    std::string problem;
    JsonIn in(root, problem);
    Emitted out;
    const bool ours = root.at("schema").text() == "shardscope/emit/1";
    if (ours) {
        describeStart(in, out.plan);
        describeOne(in, out);
        describeSums(in, out);
    }
    if (!ours || !problem.empty())
        return fail(ErrorCode::Damaged, "it is not the output of `shardscope emit --digest --json`", path,
            "combine unchanged outputs");
    return out;
}

void writeEmittedText(const TextSink& sink, const TextStyle& style, const Emitted& emitted)
{
    sink(style.bold(printable(emitted.file)) + "\n");
    TextFields fields;
    fields.add("plan", emitted.plan);
    fields.add("bytes", formatCount(emitted.bytes));
    fields.add("digest", emitted.digest);
    fields.write(sink, style, "  ");
}

void writeEmittedSumText(const TextSink& sink, const TextStyle& style, const EmittedSum& sum)
{
    sink((!sum.missing.empty() ? style.yellow("not complete")
                               : style.bold(sum.fingerprint.value_or("complete")))
        + "  plan " + sum.plan + "\n");
    TextFields fields;
    fields.add("emitted",
        fmt::format("{} files, {} ({} bytes)", formatCount(sum.files), formatBytes(sum.bytes),
            formatCount(sum.bytes)));
    fields.write(sink, style, "  ");
    for (const std::string& path : sum.missing)
        sink("  missing  " + printable(path) + "\n");
}

} // namespace shardscope
