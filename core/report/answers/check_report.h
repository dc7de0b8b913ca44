// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/report/summary/report_head.h"
#include "core/report/text/text_table.h"

#include <vector>

namespace shardscope {

/// The answer of `check`: one result per path, or an error for a path that cannot be read. Without `depth`,
/// each result has its own depth. `report`: of a file that the window saves.
void writeCheckJson(const TextSink& sink, const std::vector<CheckResult>& results,
    std::optional<CheckDepth> depth, const ReportHead* report = nullptr);
std::string checkSchema();
/// What writeCheckJson() has written of one path; it can be anybody's text. Only what it says is set. Hostile
/// if it is no such answer.
Result<CheckResult> parseCheck(std::string_view json);
/// The head of a report about these results: one checkpoint for each. Reads their manifests.
ReportHead checkHead(io::FileSystem& files, const std::vector<CheckResult>& results, std::string command);
/// As text, the most important first. Meaning and repair are printed once for each kind of finding.
void writeCheckText(const TextSink& sink, const TextStyle& style, const std::vector<CheckResult>& results);
/// The use that was checked, as --for takes it, and whether the depth allows to check it; empty for any use.
std::string useText(const CheckResult& result);
/// "values not read: 3.1 GiB (3,328,599,654 bytes)"; empty if every byte was read.
std::string notReadText(const CheckResult& result);

/// All known diagnoses: code, letter, depth and name.
void writeDiagnosisListJson(const TextSink& sink);
void writeDiagnosisListText(const TextSink& sink, const TextStyle& style);

} // namespace shardscope
