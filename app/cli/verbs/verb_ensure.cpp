// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/option_values.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/checkpoint/model/require.h"
#include "core/engine/ensure/ensure.h"
#include "core/plan/model/shared_options.h"
#include "core/report/answers/finding_report.h"
#include "core/report/answers/tags_report.h"

namespace shardscope::cli {

namespace {

/// The table of the options, besides --into.
OptionFields fieldsOf(EnsureOptions& of)
{
    return {
        {.key = "world_size",
            .value = &of.worldSize,
            .option = {.name = "--world-size",
                .letter = 'w',
                .kind = ValueKind::Count,
                .valueName = "N",
                .help = "Number of all GPUs of the new run. Required.",
                .required = true,
                .minimum = 1}},
        {.key = "stage",
            .value = &of.stage,
            .option = {.name = "--stage",
                .kind = ValueKind::Count,
                .valueName = "S",
                .help = "ZeRO stage of the new run, 0 to 3. Default: that of the tag.",
                .maximum = 3}},
        {.key = "keep",
            .value = &of.keep,
            .option = {.name = "--keep",
                .kind = ValueKind::Count,
                .valueName = "K",
                .help
                = "Keep at most K copies in DIR: remove those of the oldest tags. Only copies of RUN are "
                  "removed, and only without other files in them. Default: all are kept.",
                .minimum = 1}},
        {.key = "verify",
            .value = &of.verify,
            .option = {.name = "--verify",
                .help = "Read every byte of the printed folder. Default: a new copy is verified, and of a "
                        "copy that is there already, names, sizes and times of the files are checked."}},
        allowField(of.allow, "Proceed despite this finding. The copy is marked. Can be repeated."),
        {.key = "memory_limit",
            .value = &of.execute.memoryLimitBytes,
            .option = {.name = "--memory-limit",
                .kind = ValueKind::Size,
                .valueName = "SIZE",
                .help = "Total size of payload buffers, such as 512M. Default: 256M."}},
    };
}

std::vector<Option> ensureOptions()
{
    EnsureOptions options;
    return joined(optionsOf(fieldsOf(options)),
        joined({{.name = "--into",
                   .kind = ValueKind::NewFolder,
                   .valueName = "DIR",
                   .help = "The folder for copies. Default: RUN-wN, or RUN-wN-stageS, next to RUN; of one "
                           "checkpoint-N, next to its output folder."}},
            computeOptions()));
}

Result<EnsureOptions> optionsFrom(const Session& session)
{
    const Arguments& arguments = session.arguments();
    EnsureOptions out;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(out)));
    out.into = arguments.text("--into");
    SHARDSCOPE_TRY(out.execute.jobs, jobsAsked(arguments));
    out.chooseCompute = [&session, jobs = out.execute.jobs](uint64_t bytes) {
        return computeAsked(session, ComputeTask::Transform, bytes, jobs);
    };
    return out;
}

Result<int> runEnsure(Session& session)
{
    SHARDSCOPE_TRY(EnsureOptions options, optionsFrom(session));
    const std::string path = session.arguments().positional("RUN");
    Output& output = session.output();
    options.onMarked = [&](const TagSummary& tag, const std::vector<Finding>& marks) {
        if (!output.quiet())
            output.message(ensureMarksText(tag, marks));
    };
    options.onPlanned = [&](const std::vector<Finding>& warnings) {
        if (!output.quiet())
            writeFindingsText(
                [&](std::string_view text) { output.message(text); }, output.messageStyle(), warnings);
    };
    const auto result = ensureCheckpoint(session.files(), path, options, session.job());
    if (!result)
        return forward(refusal(result.error()));
    // It is not the first start: a script must not begin from nothing.
    if (!result->tag && !result->passedOver.empty())
        return fail(ErrorCode::Refused, noUsableTagText(result->passedOver), path,
            "`check --all-tags` explains them, and says what `repair` fixes");
    if (output.json()) {
        writeEnsureJson(output.answer(), path, options.worldSize, *result);
    } else {
        if (!output.quiet())
            output.message(ensureNotes(*result));
        if (result->tag)
            output.answer()(result->folder.string() + "\n");
    }
    return result->tag ? kExitDone : kExitNo;
}

} // namespace

Command ensureCommand()
{
    return {
        .name = "ensure",
        .summary = "print a folder that a number of GPUs can load, and make it if need be",
        .description
        = {"For launch scripts of runs that are stopped and started again with another number of GPUs. Finds "
           "the newest complete tag and prints the run folder to load: RUN itself where that fits, else a "
           "verified copy for so many GPUs, which is made once and found again. Everything else goes to "
           "standard error, also a warning where the tag is marked: where parts of it were made by a repair "
           "or written with --allow, and no run saved them. Before the first save the exit status is 1; "
           "where "
           "tags are there and none can be used, it is 6.",
            "In the output folder of Trainer or Accelerate the answer is one of the `checkpoint-N`, or its "
            "copy together with the framework's files.",
            "A script that is started with `python -m shardscope.run`, or calls shardscope.deepspeed, "
            "resumes at "
            "another number of GPUs without a copy: `shardscope help resuming`.",
            "All nodes of a job may call it at once: one makes the copy, the others wait and use it. It does "
            "not join MPI. After an interruption, the next call continues."},
        .positionals
        = {{.name = "RUN", .kind = ValueKind::Folder, .help = "Run folder, or a framework's output folder."}},
        .options = ensureOptions(),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope ensure runs/llama --world-size 16", "What can 16 GPUs load?"},
            {"RUN=$(shardscope ensure runs/llama -w $SLURM_NTASKS) && deepspeed train.py \"$RUN\"",
                "In a launch script, which must not start without it:"}},
        .run = runEnsure,
        .values = Command::Values::Needed,
        .resumes = true,
        .isJob = true,
    };
}

} // namespace shardscope::cli
