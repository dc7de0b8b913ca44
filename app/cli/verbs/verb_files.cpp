// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/files_report.h"

namespace shardscope::cli {

namespace {

Result<int> runFiles(Session& session)
{
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openPath());
    const FilesQuestion question{session.arguments().has("--records")};
    Output& output = session.output();
    if (output.json()) {
        writeFilesJson(output.answer(), session.context(opened), question, session.files(), session.job());
    } else {
        writeFilesText(output.answer(), output.answerStyle(), session.context(opened), question,
            session.files(), session.job());
        output.warn(opened.checkpoint->findings);
    }
    return kExitDone;
}

} // namespace

Command filesCommand()
{
    return {
        .name = "files",
        .summary = "list the files of a checkpoint with role, rank and status",
        .description
        = {"Lists every file of the tag and every file that is missing: its role, the rank that wrote it, "
           "its size, its number of records, and whether it is ok, missing, damaged, stale (left by another "
           "save) or foreign (not part of a checkpoint)."},
        .positionals = {pathArgument()},
        .options
        = joined({{.name = "--records",
                      .help = "Also list each file's zip records: offset, size, CRC-32, and what uses them."},
                     copyOption()},
            checkpointOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope files runs/llama", "Which files exist, which are missing?"},
            {"shardscope files runs/llama --records", "What is in each file?"}},
        .run = runFiles,
        .reads = true,
    };
}

} // namespace shardscope::cli
