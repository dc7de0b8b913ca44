// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/check_report.h"

#include "core/describe/schema_out.h"
#include "core/report/answers/finding_report.h"

#include <algorithm>

namespace shardscope {

void describe(auto& out, const Meaning& means)
{
    out.is("Means", "What a finding means for loading, resuming and exporting.");
    out.textOrNull("loading", means.loading);
    out.textOrNull("resuming", means.resuming);
    out.textOrNull("exporting", means.exporting);
}

namespace {

std::string_view depthName(CheckDepth depth)
{
    return checkDepthName(std::min(depth, CheckDepth::Bytes));
}

void describeSeconds(auto& out, auto& tiers)
{
    out.is("CheckSeconds", "Seconds of each depth.");
    for (size_t i = 0; i < tiers.size(); ++i) {
        const std::string_view name = checkDepthName(static_cast<CheckDepth>(i));
        out.present(name, tiers[i].done, [&] {
            out.field(name, tiers[i].seconds, atLeast(0));
            if constexpr (kReads<decltype(out)>)
                tiers[i].done = true;
        });
    }
}

/// What a finding and the list of diagnoses say of a diagnosis.
void describeDiagnosis(auto& out, const Diagnosis& diagnosis)
{
    out.field("name", diagnosis.name, "text for display");
    out.textOrNull("letter", diagnosis.letter, "an alias, such as L6");
    out.field("silent", diagnosis.silent, "stock DeepSpeed loads it silently");
    out.field("means", diagnosis.means);
    out.textOrNull("remedy", diagnosis.remedy, "what repairs it, in words");
    out.textOrNull("no_remedy", diagnosis.noRemedy, "why there is no repair");
    out.textOrNull("threads", diagnosis.threads, "public reports of the problem");
}

/// The command that repairs a finding.
struct Fix {
    std::string code = {};
    std::string command = {};
};
constexpr std::string_view kProgram = "shardscope ";

void describe(auto& out, ConstOr<Fix> auto& fix)
{
    out.is("Fix", "The command that repairs it.");
    out.field("code", fix.code);
    out.field("command", fix.command, "DST is a placeholder for a new folder");
}

} // namespace

void describe(auto& out, ConstOr<DoctorFinding> auto& made)
{
    static const Diagnosis kNone;
    out.is("CheckFinding", "A finding with its diagnosis.");
    describe(out, made.finding);
    std::vector<std::string> parts;
    for (const Place& part : made.finding.parts)
        parts.push_back(part.text());
    out.present("parts", !parts.empty(),
        [&] { out.field("parts", parts, "what exactly is meant, where `where` is only its span"); });
    const bool isFixed = !made.command.empty();
    std::optional<Fix> fix = isFixed
        ? std::optional(Fix{std::string(made.finding.code), std::string(kProgram) + made.command})
        : std::nullopt;
    if constexpr (kReads<decltype(out)>) {
        made.diagnosis = &diagnosisOf(made.finding.code); // of this build, as of the other end
        for (const std::string& part : parts)
            made.finding.parts.push_back(Place::parsed(part));
    } else {
        describeDiagnosis(out, made.diagnosis == nullptr ? kNone : *made.diagnosis);
    }
    out.field("fix", fix);
    if constexpr (kReads<decltype(out)>) {
        if (fix && fix->command.starts_with(kProgram))
            made.command = fix->command.substr(kProgram.size());
    }
}

namespace {

void describeFacts(auto& out, auto& result)
{
    std::string folder = result.folder.string();
    out.name("checkpoint", folder, "the folder that relative names start from");
    out.nameOrNull("tag", result.tag);
    out.field("stopped", result.stopped);
    out.word("depth", result.depth, depthName, "as requested, or chosen by auto");
    std::string use = checkTargetWord(result.target);
    out.nameOrNull(
        "use", use, "the intended use, as --for takes it; null: any. Depths below metadata do not check it");
    out.object("not_read", [&](auto& notRead) {
        notRead.is("NotRead", "Bytes that the check did not read, and what they hold.");
        notRead.field("bytes", result.bytesNotRead, "of the checkpoint's files; 0 where every byte was read");
        std::string what(result.partNotRead());
        notRead.textOrNull("what", what, "what these bytes contain");
    });
    out.object(
        "seconds", [&](auto& seconds) { describeSeconds(seconds, result.tiers); },
        "per tier that was checked");
    out.field("findings", result.findings, "most important first");
    if constexpr (kReads<decltype(out)>) {
        result.folder = folder;
        if (auto target = parseCheckTarget(use))
            result.target = *target;
        else
            out.refuse("use", "is no use that can be checked");
    }
}

} // namespace

void describe(auto& out, ConstOr<CheckResult> auto& result)
{
    out.is(
        "CheckResult", "The answer for one path. `error` is set if it cannot be read; then nothing else is.");
    out.name("path", result.path, "as it was given");
    out.either(
        result.error.has_value(),
        [&] {
            if constexpr (!kReads<decltype(out)>)
                out.field("error", result.error.value_or(Error()), "why the path cannot be checked");
        },
        [&] { describeFacts(out, result); });
}

namespace {

void describeCheck(auto& out, bool isList, const std::vector<CheckResult>& results,
    std::optional<CheckDepth> depth, const ReportHead* report = nullptr)
{
    std::vector<std::string_view> depths{"auto"};
    std::ranges::copy(wordsOf<CheckDepth>(depthName), std::back_inserter(depths));
    out.answer("check", "CheckAnswer", "The findings of all paths.");
    describeReport(out, report);
    out.maybe(!isList, [&] {
        out.word("depth", depth ? checkDepthName(*depth) : "auto", depths, "the requested depth");
        out.field("results", results,
            "one per path, in their order; for a single path that cannot be checked, an error object "
            "instead");
    });
    out.maybe(isList, [&] {
        out.rows(
            "diagnoses", Row<Diagnosis>{},
            [](const auto& add) {
                for (const Diagnosis* diagnosis : diagnoses())
                    add(*diagnosis);
            },
            [](auto& each, const Diagnosis& diagnosis) {
                each.is("Diagnosis", "A finding that `check` can report.");
                each.field("code", diagnosis.code);
                each.word("depth", diagnosis.depth, depthName, "the minimum depth that finds it");
                each.word("severity", diagnosis.worst, severityName, "the worst severity of its findings");
                each.field("repairs", diagnosis.repairs, "whether repair --fix CODE repairs it");
                describeDiagnosis(each, diagnosis);
            },
            "with --list: all kinds of findings");
    });
}

} // namespace

void writeCheckJson(const TextSink& sink, const std::vector<CheckResult>& results,
    std::optional<CheckDepth> depth, const ReportHead* report)
{
    writeObject(sink, [&](JsonOut& out) { describeCheck(out, false, results, depth, report); });
}

void writeDiagnosisListJson(const TextSink& sink)
{
    writeObject(sink, [](JsonOut& out) { describeCheck(out, true, {}, {}); });
}

ReportHead checkHead(io::FileSystem& files, const std::vector<CheckResult>& results, std::string command)
{
    ReportHead out = reportHead(std::move(command));
    for (const CheckResult& result : results) {
        if (result.checkpoint) {
            out.about.push_back(identityOf(files, *result.checkpoint, result.path));
        } else {
            out.about.emplace_back().path = result.path;
            out.about.back().tag = result.tag;
        }
    }
    return out;
}

std::string useText(const CheckResult& result)
{
    const std::string use = checkTargetWord(result.target);
    return use.empty() || result.depth >= CheckDepth::Metadata ? use : use + "; not checked: needs metadata";
}

Result<CheckResult> parseCheck(std::string_view json)
{
    std::string problem;
    std::vector<CheckResult> results;
    JsonIn in(JsonNode::parse(json), problem);
    in.field("results", results);
    if (problem.empty() && results.size() != 1)
        problem = "it is not about one path";
    if (!problem.empty())
        return fail(ErrorCode::Hostile, "the check of the other host cannot be read: " + problem);
    return std::move(results.front());
}

std::string checkSchema()
{
    return schemaOf("check", [](SchemaOut& out) { describeCheck(out, false, {}, {}); });
}

} // namespace shardscope
