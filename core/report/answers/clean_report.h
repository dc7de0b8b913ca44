// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"
#include "core/engine/write/clean.h"
#include "core/report/text/text_table.h"

#include <string>
#include <vector>

namespace shardscope {

/// "3 days", "5 hours", "12 min", "40 s"; empty for what is not looked into.
std::string workAgeText(const CleanEntry& entry);

/// The answer of `clean`: unfinished work with size, age and state.
void writeCleanJson(const TextSink& sink, const std::string& path, const std::vector<CleanEntry>& entries);
std::string cleanSchema();
void writeCleanText(
    const TextSink& sink, const TextStyle& style, const std::vector<CleanEntry>& entries, bool removes);

} // namespace shardscope
