// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/report/answers/fingerprint_parts.h"
#include "core/report/answers/fingerprint_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

void writeOrigin(JsonWriter& json, const StateOrigin& origin)
{
    json.objectField("run");
    json.nameField("tag", origin.tag);
    json.field("kind", origin.kind);
    json.objectField("parallel");
    json.field("dp", origin.parallel.dp);
    json.field("tp", origin.parallel.tp);
    json.field("pp", origin.parallel.pp);
    json.field("ep", origin.parallel.ep);
    json.endObject();
    json.field("global_steps", origin.globalSteps);
    json.field("model", origin.model);
    json.endObject();
}

void writeFiles(JsonWriter& json, const std::vector<FileDigest>& files)
{
    json.arrayField("files");
    for (const FileDigest& file : files) {
        json.beginObject();
        json.nameField("path", file.name);
        json.field("bytes", file.bytes);
        json.field("digest", file.digest);
        json.objectField("states");
        for (const StateShare& share : file.states) {
            json.objectField(share.state);
            json.field("digest", share.digest.text());
            json.field("elements", share.elements);
            json.endObject();
        }
        json.endObject();
        json.endObject();
    }
    json.endArray();
}

void beginPartial(JsonWriter& json, const PartialSubject& subject)
{
    if (subject.context != nullptr)
        return beginAnswer(json, "fingerprint", *subject.context);
    json.beginObject();
    json.field("schema", "shardscope/fingerprint/1");
    json.textList("combined", subject.combined);
}

/// Elements that a state has, and the number that it should have.
uint64_t expectedOf(const PartialFingerprint& fingerprint, const std::string& state)
{
    for (const StateShare& share : fingerprint.expected) {
        if (share.state == state)
            return share.elements;
    }
    return 0;
}

} // namespace

void writePartialJson(
    const TextSink& sink, const PartialSubject& subject, const PartialFingerprint& fingerprint)
{
    const auto whole = fingerprint.whole();
    const std::vector<StateShare> covered = fingerprint.covered();
    JsonWriter json(sink);
    beginPartial(json, subject);
    json.field("complete", whole.has_value());
    json.field("joined", false);
    json.textOrNull("fingerprint", whole ? whole->text() : std::string());
    json.field("fingerprint_version", static_cast<uint64_t>(fingerprint.version));
    json.objectField("states");
    for (const StateShare& share : covered) {
        if (whole)
            json.field(share.state, share.digest.text());
    }
    json.endObject();
    writeScalarDigests(json, fingerprint.scalars);
    writeOrigin(json, fingerprint.origin);
    json.objectField("covered");
    for (const StateShare& share : covered) {
        json.objectField(share.state);
        json.field("elements", share.elements);
        json.field("of", expectedOf(fingerprint, share.state));
        json.endObject();
    }
    json.endObject();
    writeFiles(json, fingerprint.files);
    json.textList("missing", fingerprint.missing);
    endAnswer(json, sink);
}

void writePartialText(const TextSink& sink, const TextStyle& style, const PartialSubject& subject,
    const PartialFingerprint& fingerprint)
{
    const auto whole = fingerprint.whole();
    const std::vector<StateShare> covered = fingerprint.covered();
    sink((whole ? style.bold(whole->text()) : style.yellow("not complete")) + "  "
        + (subject.context != nullptr ? printable(checkpointFolder(subject.context->checkpoint))
                                      : printable(fingerprint.origin.tag))
        + "\n");
    uint64_t bytes = 0;
    for (const FileDigest& file : fingerprint.files)
        bytes += file.bytes;
    TextFields fields;
    fields.add("digested",
        fmt::format("{} files, {} ({} bytes)", formatCount(fingerprint.files.size()), formatBytes(bytes),
            formatCount(bytes)));
    for (const StateShare& share : covered)
        fields.add(printable(share.state),
            fmt::format("{} of {} elements", formatCount(share.elements),
                formatCount(expectedOf(fingerprint, share.state))));
    fields.write(sink, style, "  ");
    for (const std::string& name : fingerprint.missing)
        sink("  missing  " + printable(name) + "\n");
    if (whole)
        writeStateTable(sink, style, covered, fingerprint.scalars);
    else
        sink("  `fingerprint --combine` adds the JSON answers of all machines\n");
}

} // namespace shardscope
