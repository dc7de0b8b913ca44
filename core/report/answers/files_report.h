// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/report/answers/answer.h"
#include "core/report/text/text_table.h"

#include <optional>

namespace shardscope {

struct FilesQuestion {
    bool records = false; ///< list every zip record
};

/// Zip records of one file and what uses each, as addresses; for `files --records` and the Files page.
struct RecordUse {
    std::vector<ZipRecord> records;
    std::vector<std::vector<std::string>> usedBy; ///< per record
};
/// Reads the directory again if the checkpoint did not keep it. Empty for files that are not archives.
RecordUse recordsOf(io::FileSystem& files, const Checkpoint& checkpoint, FileId file, JobContext& job);

/// The answer of `files`: every file with role, rank and status.
void writeFilesJson(const TextSink& sink, const AnswerContext& context, const FilesQuestion& question,
    io::FileSystem& files, JobContext& job);
void writeFilesText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const FilesQuestion& question, io::FileSystem& files, JobContext& job);

} // namespace shardscope
