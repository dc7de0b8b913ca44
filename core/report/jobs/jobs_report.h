// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/report/jobs: answers about jobs, and their progress.

#include "core/base/job_context.h"
#include "core/describe/json_writer.h"
#include "core/jobs/job_store.h"
#include "core/report/text/text_table.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// One JSON line of `--progress json`, with its line end.
std::string progressJson(const Progress& progress);
/// Such a line as a progress. Nothing if it is none. Its phase can be anybody's text.
std::optional<Progress> parseProgress(std::string_view json);
std::string progressSchema();

/// The answer of `jobs`: those of one machine.
void writeJobsJson(const TextSink& sink, const std::vector<jobs::JobEntry>& entries);
std::string jobsSchema();
void writeJobsText(const TextSink& sink, const TextStyle& style, const std::vector<jobs::JobEntry>& entries);
/// The id of the only job in such an answer; it can be anybody's text. Hostile if there is none.
Result<std::string> jobOfAnswer(std::string_view json);

} // namespace shardscope
