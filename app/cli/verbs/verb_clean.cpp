// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/engine/write/clean.h"
#include "core/report/answers/clean_report.h"

namespace shardscope::cli {

namespace {

Result<int> runClean(Session& session)
{
    const bool removes = session.arguments().has("--remove");
    SHARDSCOPE_TRY(const std::vector<CleanEntry> entries,
        cleanFolder(session.files(), session.askedPath(), removes, session.job()));
    Output& output = session.output();
    if (output.json())
        writeCleanJson(output.answer(), session.askedPath(), entries);
    else
        writeCleanText(output.answer(), output.answerStyle(), entries, removes);
    return kExitDone;
}

} // namespace

Command cleanCommand()
{
    return {
        .name = "clean",
        .summary = "list abandoned work folders, and remove them",
        .description
        = {"An interrupted job leaves its work folder `.TAG.partial-ID` next to its target, or in the folder "
           "that it exports to. An interrupted report leaves a file `.NAME.partial-PID-N`. This command "
           "lists them with size and age. With --remove it removes those that are abandoned.",
            "Work that a running job uses is never removed. A job that was interrupted while its files "
            "were moved into place is not removed either: run the same command again to complete it. Only "
            "folders with the content of a work folder are listed. Links are listed, but neither followed "
            "nor "
            "removed, and what belongs to another user is kept.",
            "The interrupted command continues its work folder. After the removal it starts from the "
            "beginning."},
        .positionals = {{.name = "PATH",
            .kind = ValueKind::Folder,
            .help = "The folder that a job wrote to. Its subfolders are not searched."}},
        .options = {{.name = "--remove", .help = "Remove what is listed as abandoned."}},
        .commonOptions = outputOptions(),
        .examples = {{"shardscope clean runs/llama-16", "What did interrupted jobs leave here?"},
            {"shardscope clean runs/llama-16 --remove", "Remove it:"}},
        .run = runClean,
        .isJob = true,
    };
}

} // namespace shardscope::cli
