// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "core/base/finding.h"
#include "core/describe/json_in.h"
#include "core/describe/json_out.h"
#include "core/report/text/text_table.h"

#include <string_view>
#include <vector>

namespace shardscope {

/// The code of a finding with this text, which lives as long as the program; empty if there is none.
std::string_view knownCode(std::string_view text);

void describe(auto& out, ConstOr<Finding> auto& finding)
{
    out.is("Finding", "Damage or an anomaly. `where` is an address or a path.");
    std::string code(finding.code);
    out.field("code", code);
    out.word("severity", finding.severity, severityName);
    out.field("message", finding.message);
    std::string where = finding.where.text();
    out.textOrNull("where", where, "an address, or a name relative to the checkpoint");
    out.field("evidence", finding.evidence);
    if constexpr (kReads<decltype(out)>) {
        finding.code = knownCode(code);
        finding.where = Place::parsed(where);
        if (finding.code.empty())
            out.refuse("code", "has a value that this build does not know");
    }
}

void describe(auto& out, const Error& error)
{
    out.is("ErrorFields", "Why a path cannot be read.");
    out.word("code", error.code, errorCodeName);
    out.field("message", error.message);
    out.nameOrNull("path", error.path);
    out.textOrNull("hint", error.hint.text);
}

/// `error`, if there is one.
void describeError(auto& out, const std::optional<Error>& error, const About& about)
{
    out.maybe(error.has_value(), [&] {
        out.free(
            "error", As<AnyObject>{},
            [&](JsonWriter& json) {
                json.beginObject();
                JsonOut fields(json);
                describe(fields, *error);
                json.endObject();
            },
            about);
    });
}

/// One finding per paragraph: severity, message, code, where, and its evidence below. Consecutive
/// repetitions are printed once, with their number; JSON lists all.
void writeFindingsText(const TextSink& sink, const TextStyle& style, const std::vector<Finding>& findings,
    std::string_view indent = "");

/// "2 errors, 1 warning", or "none".
std::string findingCountText(const std::vector<Finding>& findings);

/// The error object `shardscope/error/1`. `next` is the command to run next; empty when there is none.
/// `runs`: checkpoints to open instead (core/checkpoint/folder/discover.h, runsInstead).
void writeErrorJson(const TextSink& sink, const Error& error, const std::string& next,
    const std::vector<std::string>& runs = {});
std::string errorSchema();
/// The error as text: what failed, on what, why, what to do, and the command to run next.
void writeErrorText(
    const TextSink& sink, const TextStyle& style, const Error& error, const std::string& next = {});

} // namespace shardscope
