// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/error.h"
#include "core/base/finding.h"
#include "core/report/json/json_writer.h"
#include "core/report/text/text_table.h"

#include <string_view>
#include <vector>

namespace shardscope {

/// A list of `{code, severity, message, where, evidence}`, as cli.md defines findings, warnings and problems.
void writeFindings(JsonWriter& json, std::string_view field, const std::vector<Finding>& findings);

/// One finding per paragraph: severity, message, code, where, and its evidence below. Consecutive
/// repetitions are printed once, with their number; JSON lists all.
void writeFindingsText(const TextSink& sink, const TextStyle& style, const std::vector<Finding>& findings,
    std::string_view indent = "");

/// "2 errors, 1 warning", or "none".
std::string findingCountText(const std::vector<Finding>& findings);

/// The fields `code`, `message`, `path` and `hint` of an error, in the current object.
void writeErrorFields(JsonWriter& json, const Error& error);
/// The error object `shardscope/error/1`. `next` is the command to run next; empty when there is none.
/// `runs`: checkpoints to open instead (core/checkpoint/folder/discover.h, runsInstead).
void writeErrorJson(const TextSink& sink, const Error& error, const std::string& next,
    const std::vector<std::string>& runs = {});
/// The error as text: what failed, on what, why, what to do, and the command to run next.
void writeErrorText(
    const TextSink& sink, const TextStyle& style, const Error& error, const std::string& next = {});

} // namespace shardscope
