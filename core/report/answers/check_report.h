// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "core/report/text/text_table.h"

#include <vector>

namespace shardscope {

/// The answer of `check`: one result per path, which is an error where the path cannot be read. Without a
/// depth each result has its own.
void writeCheckJson(
    const TextSink& sink, const std::vector<CheckResult>& results, std::optional<CheckDepth> depth);
/// For people: what matters most first, each kind of finding with what it means and what repairs it told
/// once.
void writeCheckText(const TextSink& sink, const TextStyle& style, const std::vector<CheckResult>& results);
/// "values not read: 3.1 GiB (3,328,599,654 bytes)"; empty where every byte was read.
std::string notReadText(const CheckResult& result);

/// What can be found at all: code, letter, depth and name of every diagnosis.
void writeDiagnosisListJson(const TextSink& sink);
void writeDiagnosisListText(const TextSink& sink, const TextStyle& style);

} // namespace shardscope
