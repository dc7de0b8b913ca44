// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/fingerprint_report.h"

#include "core/base/text.h"
#include "core/report/answers/fingerprint_parts.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

void writeParameters(JsonWriter& json, const FingerprintSubject& subject, const StateFingerprint& fingerprint)
{
    json.objectField("parameters");
    ParamId open = kNoParam;
    for (const ParameterDigest& digest : digestsByParameter(subject.checkpoint, fingerprint)) {
        if (digest.param != open) {
            if (open != kNoParam)
                json.endObject();
            open = digest.param;
            json.objectField(subject.checkpoint->params[index(open)].name);
        }
        json.field(digest.state, digest.digest.text());
    }
    if (open != kNoParam)
        json.endObject();
    json.endObject();
}

} // namespace

void writeFingerprintJson(
    const TextSink& sink, const FingerprintSubject& subject, const StateFingerprint& fingerprint)
{
    JsonWriter json(sink);
    beginAnswer(json, "fingerprint", subject.context);
    json.field("complete", true);
    json.field("joined", subject.merged);
    json.field("fingerprint", fingerprint.whole.text());
    json.field("fingerprint_version", static_cast<uint64_t>(kDigestVersion));
    json.objectField("states");
    for (const StateShare& share : fingerprint.states)
        json.field(share.state, share.digest.text());
    json.endObject();
    writeScalarDigests(json, fingerprint.scalars);
    if (subject.perParameter)
        writeParameters(json, subject, fingerprint);
    writeCompute(json, subject.context);
    endAnswer(json, sink);
}

void writeFingerprintText(const TextSink& sink, const TextStyle& style, const FingerprintSubject& subject,
    const StateFingerprint& fingerprint)
{
    sink(style.bold(fingerprint.whole.text()) + "  " + printable(checkpointFolder(subject.context.checkpoint))
        + "\n");
    TextFields fields;
    fields.add("read",
        fmt::format("{} files, {} ({} bytes)", formatCount(fingerprint.files), formatBytes(fingerprint.bytes),
            formatCount(fingerprint.bytes)));
    const ParallelDegrees& degrees = subject.context.checkpoint.parallel;
    if (subject.merged)
        fields.add("slices",
            "merged: the digest is the same for any number of tensor slices and pipeline "
            "stages");
    else if (degrees.tp > 1 || degrees.pp > 1)
        fields.add("slices", "digested as stored; --join merges them first");
    fields.write(sink, style, "  ");
    writeStateTable(sink, style, fingerprint.states, fingerprint.scalars);
    if (!subject.perParameter)
        return;
    sink("\n");
    TextTable table({{"parameter"}, {"state"}, {"digest"}});
    for (const ParameterDigest& digest : digestsByParameter(subject.checkpoint, fingerprint))
        table.add({subject.checkpoint->params[index(digest.param)].name, std::string(digest.state),
            digest.digest.text()});
    table.write(sink, style, "  ");
}

} // namespace shardscope
