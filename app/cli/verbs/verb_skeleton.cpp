// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/verbs/verbs.h"
#include "core/doctor/examine.h"
#include "core/report/answers/skeleton_report.h"
#include "core/report/text/printable.h"

namespace shardscope::cli {

namespace {

Result<int> runSkeleton(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_CHECK(requireFile(arguments.positional("OUT"), "OUT", "name a file, such as NAME.zip"));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    const Checkpoint& checkpoint = *opened.checkpoint;
    SkeletonRequest request;
    request.asked = session.askedPath();
    request.tagWasNamed = arguments.has("--tag");
    request.out = arguments.positional("OUT");
    request.force = arguments.has("--force");
    for (const std::string& key : arguments.all("--keep"))
        request.keep.insert(key);
    SHARDSCOPE_CHECK(checkSkeletonRequest(session.files(), checkpoint, request));
    CheckOptions check;
    check.open = session.openOptions();
    check.opened = opened.checkpoint;
    SHARDSCOPE_TRY(CheckResult found, examine(session.files(), request.asked, check, session.job()));
    SHARDSCOPE_CHECK(session.job().poll());
    request.checkJson = skeletonCheckText(std::move(found), checkpoint, check.open.roots);
    SHARDSCOPE_TRY(
        const SkeletonReport report, writeSkeleton(session.files(), checkpoint, request, session.job()));
    Output& output = session.output();
    if (output.json())
        writeSkeletonJson(output.answer(), session.context(opened), report, request.out.string());
    else if (output.quiet())
        output.answer()(
            output.answerStyle().green("written") + "  " + printable(request.out.string()) + "\n");
    else
        writeSkeletonText(output.answer(), output.answerStyle(), report, request.out.string());
    return kExitDone;
}

std::vector<Option> skeletonOptions()
{
    return joined({{.name = "--keep",
                       .kind = ValueKind::Text,
                       .valueName = "KEY",
                       .help = "Keep the client's values under this key of the model file, as "
                               "`shardscope inspect` lists them. May be given several times.",
                       .repeats = true},
                      {.name = "--force", .letter = 'f', .help = "Replace OUT when it exists."}},
        tagOptions());
}

} // namespace

Command skeletonCommand()
{
    return {
        .name = "skeleton",
        .summary = "write all of a checkpoint but its values, for a bug report",
        .description
        = {"OUT is a zip file that Shardscope opens like the checkpoint, without its values: inspect, "
           "params, "
           "layout, files, check and --dry-run of verbs that write work on it as on the original. The "
           "findings of `shardscope check` go along, those that need values too.",
            "Kept are the names of files, their sizes and times, names and shapes of parameters, "
            "DeepSpeed's counters, versions, param groups with their options, loss scaler, and of ds_config "
            "and the scheduler numbers and the words that DeepSpeed knows. Not kept are the contents of all "
            "tensors, every value of the client state (its keys at the top, the nesting, names of classes "
            "and shapes of tensors are; --keep keeps the values of a key), other texts of ds_config such as "
            "paths, byte strings, and all but the size of files that are no state of DeepSpeed. No path of "
            "this machine, host or user goes along. What is not kept is overwritten in its place, so that "
            "every offset is that of the original.",
            "Names of parameters, of the tag and of classes may tell of a project, too: look at "
            "`unzip -p OUT.zip` before it leaves the house."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "OUT",
                .kind = ValueKind::File,
                .help = "The file to write, NAME.zip, outside of the run folder."}},
        .options = skeletonOptions(),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope skeleton runs/llama llama.zip", "For a bug report:"},
            {"shardscope inspect llama.zip", "What its reader sees:"},
            {"shardscope skeleton runs/llama llama.zip --keep iteration", "With one value of the client:"}},
        .run = runSkeleton,
    };
}

} // namespace shardscope::cli
