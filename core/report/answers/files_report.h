// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <optional>

namespace shardscope {

struct FilesQuestion {
    bool records = false; ///< list every zip record
    std::optional<std::vector<FileId>> only = {}; ///< these, in this order; empty: all
};

/// A zip record of a file and what uses it, as addresses.
struct UsedRecord {
    ZipRecord record;
    std::vector<std::string> usedBy;
};
/// Reads the directory again if the checkpoint did not keep it. Empty for files that are not archives.
std::vector<UsedRecord> recordsOf(
    io::FileSystem& files, const Checkpoint& checkpoint, FileId file, JobContext& job);

/// The answer of `files`: every file with role, rank and status.
void writeFilesJson(const TextSink& sink, const AnswerContext& context, const FilesQuestion& question,
    io::FileSystem& files, JobContext& job);
std::string filesSchema();
void writeFilesText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const FilesQuestion& question, io::FileSystem& files, JobContext& job);

} // namespace shardscope
