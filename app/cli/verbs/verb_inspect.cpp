// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/inspect_report.h"

namespace shardscope::cli {

namespace {

Result<int> runInspect(Session& session)
{
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openPath());
    Output& output = session.output();
    if (output.json())
        writeInspectJson(output.answer(), session.context(opened));
    else
        writeInspectText(output.answer(), output.answerStyle(), session.context(opened));
    return kExitDone;
}

} // namespace

Command inspectCommand()
{
    return {
        .name = "inspect",
        .summary = "show what a checkpoint is, with evidence",
        .description
        = {"Shows kind, ZeRO stage, number of ranks, precision, step, param groups with their options, sizes "
           "and findings. Reads the structure of every file, but no tensor data.",
            "A damaged or unsupported checkpoint is described as far as possible; this is not an error."},
        .positionals = {pathArgument()},
        .options = joined({copyOption()}, checkpointOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope inspect runs/llama", "The tag that `latest` names:"},
            {"shardscope inspect runs/llama --tag global_step500", "Another tag:"},
            {"shardscope inspect runs/llama --json | jq .step.global_steps", "One number, for a script:"}},
        .run = runInspect,
        .reads = true,
    };
}

} // namespace shardscope::cli
