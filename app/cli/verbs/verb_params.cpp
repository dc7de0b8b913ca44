// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/params_report.h"

namespace shardscope::cli {

namespace {

Result<int> runParams(Session& session)
{
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openModel());
    Output& output = session.output();
    if (output.json())
        writeParamsJson(output.answer(), session.context(opened));
    else
        writeParamsText(output.answer(), output.answerStyle(), session.context(opened));
    return kExitDone;
}

} // namespace

Command paramsCommand()
{
    return {
        .name = "params",
        .summary = "list parameters with shape, type, group and states",
        .description
        = {"Lists every parameter and buffer in the order of the checkpoint, with its shape, its type in the "
           "model, its param group, whether it is trained, the parameter that it shares storage with, and "
           "its states in the checkpoint (fp32 masters, optimizer moments, weights)."},
        .positionals = {pathArgument()},
        .options = joined({copyOption()}, checkpointOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope params runs/llama", "All of them:"},
            {"shardscope params runs/llama --json | jq -r '.parameters[] | select(.trainable | not).name'",
                "The names of frozen parameters:"}},
        .run = runParams,
        .reads = true,
    };
}

} // namespace shardscope::cli
