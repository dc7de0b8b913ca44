// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/fingerprint_report.h"

#include "core/base/text.h"
#include "core/describe/json_in.h"
#include "core/report/answers/fingerprint_parts.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

constexpr const char* kDigestText = "32 lower-case hex digits";

/// Of this build's version, where it is read.
void digestField(auto& out, std::string_view name, ConstOr<Digest> auto& digest)
{
    std::string text = digest.text();
    out.field(name, text, kDigestText);
    if constexpr (kReads<decltype(out)>) {
        if (const auto parsed = parseDigest(text))
            digest = *parsed;
        else
            out.refuse(name, "is not 32 lower-case hex digits");
    }
}

} // namespace

void describe(auto& out, ConstOr<DigestedScalar> auto& scalar)
{
    out.is("Scalar", "A scalar of the training state.");
    out.field("name", scalar.name);
    out.field("state", scalar.state);
    out.field("text", scalar.text, "the canonical text that is digested");
    digestField(out, "digest", scalar.digest);
}

void describe(auto& out, ConstOr<StateOrigin> auto& origin)
{
    out.is("FingerprintRun", "The run of a partial fingerprint.");
    out.name("tag", origin.tag);
    out.field("kind", origin.kind);
    out.field("parallel", origin.parallel);
    out.field("global_steps", origin.globalSteps);
    out.field("model", origin.model, "digest of the parameters' names, shapes and groups");
    if constexpr (kReads<decltype(out)>) {
        if (!parseDigest(origin.model))
            out.refuse("model", "is not 32 lower-case hex digits");
    }
}

void describe(auto& out, ConstOr<StateShare> auto& share)
{
    out.is("FileState", "A state's part of a file.");
    digestField(out, "digest", share.digest);
    out.field("elements", share.elements);
}

void describe(auto& out, ConstOr<FileDigest> auto& file)
{
    out.is("FingerprintFile", "A file that was read.");
    out.name("path", file.name);
    out.field("bytes", file.bytes);
    bool isOld = false; // release 0.1 wrote SHA-256 in its place, without saying so
    if constexpr (kReads<decltype(out)>) {
        out.present("sha256", isOld, [&] {
            out.field("sha256", file.digest);
            file.digest = "sha256:" + file.digest;
            isOld = true;
        });
    }
    if (!isOld)
        out.field(
            "digest", file.digest, "of its content: xxh3-128: and 32 hex digits (core/io/content_digest.h)");
    std::vector<std::pair<std::string, StateShare>> states;
    for (const StateShare& share : file.states)
        states.emplace_back(share.state, share);
    out.field("states", states, "what the file adds to each state");
    if constexpr (kReads<decltype(out)>) {
        for (const auto& [state, share] : states)
            file.states.push_back({state, share.digest, share.elements});
    }
}

namespace {

struct Covered {
    uint64_t elements = 0;
    uint64_t of = 0;
};

void describe(auto& out, ConstOr<Covered> auto& covered)
{
    out.is("Covered", "How much of the state was read.");
    out.field("elements", covered.elements);
    out.field("of", covered.of);
}

/// What all fingerprints have.
struct Digests {
    bool joined = false;
    std::optional<Digest> whole = {};
    DigestVersion version = kDigestVersion;
    std::vector<StateShare> states = {};
    std::vector<DigestedScalar> scalars = {};
};

using DigestTexts = std::vector<std::pair<std::string, std::string>>;

void describeDigests(auto& out, ConstOr<Digests> auto& digests)
{
    DigestTexts states;
    for (const StateShare& share : digests.states) {
        if (digests.whole)
            states.emplace_back(share.state, share.digest.text());
    }
    bool isComplete = digests.whole.has_value();
    out.field("complete", isComplete,
        "every file of the checkpoint was digested; always true without --partial and --combine");
    out.field("joined", digests.joined, "tensor slices and pipeline stages were merged before digesting");
    std::string whole = digests.whole ? digests.whole->text() : std::string();
    out.textOrNull("fingerprint", whole,
        "of the whole training state: the sum of states and scalars, both halves modulo 2^64, as 32 hex "
        "digits; "
        "null unless complete");
    auto version = static_cast<uint64_t>(digests.version);
    out.field("fingerprint_version", version, kFingerprintVersionText);
    out.field("states", states, "all tensors of one state; empty unless complete");
    out.field("scalars", digests.scalars, "the parts of the state that are not tensors");
    if constexpr (kReads<decltype(out)>) {
        digests.version = static_cast<DigestVersion>(version);
        digests.whole = parseDigest(whole);
        if (!digests.whole || digests.version != kDigestVersion)
            out.refuse("fingerprint", "is not complete, or not of this version");
        for (const auto& [state, text] : states) {
            const auto digest = parseDigest(text);
            if (!digest)
                return out.refuse("states", "has what is not 32 lower-case hex digits");
            digests.states.push_back({state, *digest, 0});
        }
    }
}

/// Parameter by parameter as they come: there are many.
void writeParameters(JsonWriter& json, const FingerprintSubject& subject, const StateFingerprint& fingerprint)
{
    json.beginObject();
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

void describeWhole(auto& out, const FingerprintSubject& subject, const StateFingerprint& fingerprint)
{
    out.maybe(subject.perParameter, [&] {
        out.free(
            "parameters", As<std::vector<std::pair<std::string, DigestTexts>>>{},
            [&](JsonWriter& json) { writeParameters(json, subject, fingerprint); },
            "with --per-parameter: by name, then by state");
    });
    out.maybe(true, [&] { describeCompute(out, subject.context); });
}

void describePartial(auto& out, ConstOr<PartialFingerprint> auto& fingerprint)
{
    std::vector<std::pair<std::string, Covered>> covered;
    for (const StateShare& share : fingerprint.covered())
        covered.emplace_back(share.state, Covered{share.elements, expectedOf(fingerprint, share.state)});
    out.field(
        "run", fingerprint.origin, "with --partial and --combine: what must be equal in results to combine");
    out.field("covered", covered, "with --partial and --combine: by state");
    out.field("files", fingerprint.files, "with --partial and --combine: what was digested");
    out.field("missing", fingerprint.missing,
        "with --partial and --combine: files of the checkpoint that were not digested");
    if constexpr (kReads<decltype(out)>) {
        for (const auto& [state, share] : covered)
            fingerprint.expected.push_back({state, {}, share.of});
    }
}

void describeStart(auto& out, const AnswerContext* context, const std::vector<std::string>& combined)
{
    out.answer("fingerprint", "FingerprintAnswer", "The fingerprint of a training state: 32 hex digits.");
    out.maybe(context != nullptr, [&] { describeSubject(out, *context); });
    out.maybe(context == nullptr, [&] {
        out.field("combined", combined,
            "with --combine, instead of path, checkpoint and tag: the results that were combined");
    });
}

} // namespace

void writeFingerprintJson(
    const TextSink& sink, const FingerprintSubject& subject, const StateFingerprint& fingerprint)
{
    const Digests digests{.joined = subject.merged,
        .whole = fingerprint.whole,
        .states = fingerprint.states,
        .scalars = fingerprint.scalars};
    writeObject(sink, [&](JsonOut& out) {
        describeStart(out, &subject.context, {});
        describeDigests(out, digests);
        describeWhole(out, subject, fingerprint);
    });
}

void writePartialJson(
    const TextSink& sink, const PartialSubject& subject, const PartialFingerprint& fingerprint)
{
    const Digests digests{.whole = fingerprint.whole(),
        .version = fingerprint.version,
        .states = fingerprint.covered(),
        .scalars = fingerprint.scalars};
    writeObject(sink, [&](JsonOut& out) {
        describeStart(out, subject.context, subject.combined);
        describeDigests(out, digests);
        describePartial(out, fingerprint);
    });
}

Result<StateFingerprint> parseFingerprint(std::string_view json)
{
    std::string problem;
    Digests digests;
    JsonIn in(JsonNode::parse(json), problem);
    describeDigests(in, digests);
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "the fingerprint of the other host cannot be read: " + problem);
    StateFingerprint out;
    out.whole = *digests.whole;
    out.states = std::move(digests.states);
    out.scalars = std::move(digests.scalars);
    return out;
}

Result<PartialFingerprint> parsePartial(const std::string& text, const std::string& path)
{
    const JsonNode root = JsonNode::parse(text);
    std::string problem;
    JsonIn in(root, problem);
    PartialFingerprint out;
    const bool ours = root.at("schema").text() == "shardscope/fingerprint/1" && root.at("run");
    if (ours) {
        uint64_t version = static_cast<uint64_t>(DigestVersion::One); // whose answers do not say it
        in.present("fingerprint_version", false, [&] { in.field("fingerprint_version", version); });
        if (version > static_cast<uint64_t>(kDigestVersion))
            return fail(ErrorCode::Unsupported,
                "its digests follow a newer version of the definition than this release knows", path,
                "combine the answers with the release that wrote them");
        out.version = static_cast<DigestVersion>(version);
        in.field("scalars", out.scalars);
        describePartial(in, out);
        for (DigestedScalar& scalar : out.scalars)
            scalar.digest.version = out.version;
        for (FileDigest& file : out.files) {
            if (file.digest.starts_with("sha256:") != (out.version == DigestVersion::One))
                in.refuse("digest", "is not of this version");
            for (StateShare& share : file.states)
                share.digest.version = out.version;
        }
    }
    const bool ordered = std::ranges::is_sorted(out.files, std::ranges::less(), &FileDigest::name);
    if (!ours || !problem.empty() || out.version == DigestVersion::None || !ordered)
        return fail(ErrorCode::Damaged, "it is not the output of `shardscope fingerprint --partial --json`",
            path, "combine unchanged outputs");
    return out;
}

std::string fingerprintSchema()
{
    return schemaOf("fingerprint", [](SchemaOut& out) {
        const CheckpointPtr none;
        const PartialFingerprint nothing;
        describeStart(out, &schemaContext(), {});
        const Digests digests;
        describeDigests(out, digests);
        describeWhole(out, {schemaContext(), none}, {});
        out.maybe(true, [&] { describePartial(out, nothing); });
    });
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
