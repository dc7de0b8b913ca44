// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/skeleton_report.h"
#include "core/report/text/printable.h"

namespace shardscope::cli {

namespace {

Result<int> runSkeleton(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_CHECK(requireFile(arguments.positional("OUT"), "OUT", "name a file, such as NAME.zip"));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    SkeletonRequest request;
    request.asked = session.askedPath();
    request.tagWasNamed = arguments.has("--tag");
    request.out = arguments.positional("OUT");
    request.force = arguments.has("--force");
    for (const std::string& key : arguments.all("--keep"))
        request.keep.insert(key);
    SHARDSCOPE_TRY(const SkeletonReport report,
        writeCheckedSkeleton(
            session.files(), opened.checkpoint, request, session.openOptions(), session.job()));
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
                       .help = "Keep the values of this client key of the model file; `shardscope inspect` "
                               "lists the keys. Can be repeated.",
                       .repeats = true},
                      {.name = "--force", .letter = 'f', .help = "Replace OUT when it exists."}},
        tagOptions());
}

} // namespace

Command skeletonCommand()
{
    return {
        .name = "skeleton",
        .summary = "write a checkpoint without its values, for a bug report",
        .description
        = {"OUT is a zip file that Shardscope opens like the checkpoint, but it has no values. inspect, "
           "params, layout, files, check and --dry-run of writing commands work on it as on the original. It "
           "also holds the findings of `shardscope check`, including those that need values.",
            "It keeps: names, sizes and times of files; names and shapes of parameters; DeepSpeed's "
            "counters, versions, param groups with their options and loss scaler; from ds_config and the "
            "scheduler, numbers and the words that DeepSpeed knows; from the client state, top-level keys, "
            "nesting, names of classes and shapes of tensors. It does not keep: contents of tensors; values "
            "of the client state (--keep keeps the values of a key); other texts of ds_config such as paths; "
            "byte strings; the content of files that are not DeepSpeed state (only their size). Paths of "
            "this machine, host names and user names are not included. Removed content is overwritten in "
            "place, so every offset stays the same.",
            "Names of parameters, of the tag and of classes can also reveal something about a project. Look "
            "at `unzip -p OUT.zip` before you share the file."},
        .positionals
        = {{.name = "SRC", .kind = ValueKind::Path, .help = "The checkpoint to read: a run or tag folder."},
            {.name = "OUT",
                .kind = ValueKind::NewFile,
                .help = "The file to write, NAME.zip, outside of the run folder."}},
        .options = skeletonOptions(),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope skeleton runs/llama llama.zip", "For a bug report:"},
            {"shardscope inspect llama.zip", "What the reader of the report sees:"},
            {"shardscope skeleton runs/llama llama.zip --keep iteration", "Keep one client value:"}},
        .run = runSkeleton,
    };
}

} // namespace shardscope::cli
