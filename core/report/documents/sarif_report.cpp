// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/sarif_report.h"

#include "core/base/build_info.h"
#include "core/base/text.h"
#include "core/describe/json_out.h"
#include "core/layout/address.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope {

namespace {

using nlohmann::json;

const char* levelOf(Severity severity)
{
    switch (severity) {
    case Severity::Error:
        return "error";
    case Severity::Warning:
        return "warning";
    case Severity::Info:
        break;
    }
    return "note";
}

/// RFC 3986: %HH for all characters except unreserved ones and the slash.
std::string uriOf(const std::string& path)
{
    static constexpr std::string_view kPlain
        = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    static constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out;
    for (const char c : path) {
        if (kPlain.find(c) != std::string_view::npos) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += kHex[byte >> 4];
        out += kHex[byte & 15];
    }
    return out;
}

json messageOf(const std::string& text)
{
    return {{"text", toValidUtf8(text)}};
}

json ruleOf(const Diagnosis& diagnosis)
{
    json rule{{"id", diagnosis.code}, {"name", diagnosis.name},
        {"shortDescription", messageOf(std::string(diagnosis.name))},
        {"defaultConfiguration", {{"level", levelOf(diagnosis.worst)}}}};
    std::string full;
    for (const std::string_view part :
        {diagnosis.means.loading, diagnosis.means.resuming, diagnosis.means.exporting}) {
        if (!part.empty())
            full += (full.empty() ? "" : " ") + std::string(part);
    }
    if (!full.empty())
        rule["fullDescription"] = messageOf(full);
    const std::string_view help = diagnosis.remedy.empty() ? diagnosis.noRemedy : diagnosis.remedy;
    if (!help.empty())
        rule["help"] = messageOf(std::string(help));
    rule["properties"] = {{"letter", diagnosis.letter}, {"silent", diagnosis.silent},
        {"depth", checkDepthName(diagnosis.depth)}};
    return rule;
}

json resultOf(const CheckResult& result, const DoctorFinding& made, size_t rule)
{
    const Finding& finding = made.finding;
    std::string text = finding.message;
    for (const std::string& fact : finding.evidence)
        text += "\n- " + fact;
    json out{{"ruleId", finding.code}, {"ruleIndex", rule}, {"level", levelOf(finding.severity)},
        {"message", messageOf(text)}};
    const std::string file = finding.where.file();
    const io::Path at = file.empty() ? result.folder : result.folder / file;
    json location{{"physicalLocation", {{"artifactLocation", {{"uri", uriOf(at.generic_string())}}}}}};
    if (!finding.where.isEmpty())
        location["logicalLocations"]
            = json::array({{{"fullyQualifiedName", toValidUtf8(finding.where.text())}}});
    out["locations"] = json::array({location});
    if (!made.command.empty())
        out["properties"] = {{"fix", "shardscope " + toValidUtf8(made.command)}};
    return out;
}

json notificationOf(const CheckResult& result)
{
    const Error& error = *result.error;
    const std::string text = error.message + (error.hint.text.empty() ? "" : " (" + error.hint.text + ")");
    const json place{{"physicalLocation", {{"artifactLocation", {{"uri", uriOf(result.path)}}}}}};
    return {{"descriptor", {{"id", errorCodeName(error.code)}}}, {"level", "error"},
        {"message", messageOf(text)}, {"locations", json::array({place})},
        {"properties", {{"path", toValidUtf8(error.path)}}}};
}

/// The invocation: paths that could not be read are tool notifications.
json invocationOf(const std::vector<CheckResult>& results, const ReportHead& head)
{
    json notifications = json::array();
    for (const CheckResult& result : results) {
        if (result.error)
            notifications.push_back(notificationOf(result));
    }
    json out{{"executionSuccessful", notifications.empty()}, {"endTimeUtc", head.time}};
    if (!head.command.empty())
        out["commandLine"] = toValidUtf8(head.command);
    if (!notifications.empty())
        out["toolExecutionNotifications"] = notifications;
    return out;
}

/// As in `report` of JSON answers.
json checkpointsOf(const ReportHead& head)
{
    std::string text;
    writeObject([&](std::string_view part) { text += part; },
        [&](JsonOut& out) { out.field("checkpoints", head.about); });
    return json::parse(text).at("checkpoints");
}

} // namespace

std::string sarifReport(const std::vector<CheckResult>& results, const ReportHead& head)
{
    json rules = json::array();
    std::vector<const Diagnosis*> known;
    json found = json::array();
    for (const CheckResult& result : results) {
        for (const DoctorFinding& made : result.findings) {
            auto at = std::find(known.begin(), known.end(), made.diagnosis);
            if (at == known.end()) {
                rules.push_back(ruleOf(*made.diagnosis));
                at = known.insert(known.end(), made.diagnosis);
            }
            found.push_back(resultOf(result, made, static_cast<size_t>(at - known.begin())));
        }
    }
    json unread = json::array();
    for (const CheckResult& result : results) {
        if (result.error)
            continue;
        const std::string_view part = result.partNotRead();
        const std::string use = checkTargetWord(result.target);
        unread.push_back({{"path", toValidUtf8(result.path)}, {"depth", checkDepthName(result.depth)},
            {"bytes", result.bytesNotRead}, {"what", part.empty() ? json() : json(part)},
            {"use", use.empty() ? json() : json(toValidUtf8(use))}});
    }
    const json driver{{"name", "Shardscope"}, {"version", buildInfo().version}, {"rules", rules}};
    const json run{{"tool", {{"driver", driver}}},
        {"invocations", json::array({invocationOf(results, head)})}, {"results", found},
        {"columnKind", "utf16CodeUnits"},
        {"properties", {{"checkpoints", checkpointsOf(head)}, {"not_read", unread}}}};
    const json out{
        {"$schema",
            "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
        {"version", "2.1.0"}, {"runs", json::array({run})}};
    return out.dump(1) + "\n";
}

} // namespace shardscope
