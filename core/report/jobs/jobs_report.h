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

/// A job as the answer of `jobs` says it. Where another host has sent it, every text can be anybody's.
struct DetachedJob {
    std::string id; ///< JobStore::isId()
    jobs::JobState state = jobs::JobState::Interrupted;
    std::string command; ///< for a shell of its machine; its last words are left out beyond 64 KiB (" ...")
    std::string target; ///< what it writes, absolute; empty: it is not known
    std::string machine;
    std::string started; ///< its last start; UTC, as all times here: "2026-11-24T22:10:05Z"
    std::string ended; ///< empty: it is not known to have ended
    std::optional<uint32_t> exit = {};
    bool json = false; ///< its own answer is JSON
    std::optional<Progress> progress = {};
};

/// The answer of `jobs`: those of one machine.
void writeJobsJson(const TextSink& sink, const std::vector<jobs::JobEntry>& entries);
std::string jobsSchema();
void writeJobsText(const TextSink& sink, const TextStyle& style, const std::vector<jobs::JobEntry>& entries);
/// What writeJobsJson() has written. Hostile if it is no such answer, or a text has over 64 KiB.
Result<std::vector<DetachedJob>> parseJobs(std::string_view json);
/// The only job in such an answer. Hostile if there is none, or another number.
Result<DetachedJob> parseJob(std::string_view json);

} // namespace shardscope
