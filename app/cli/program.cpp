// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/command.h"
#include "app/cli/frame/common_options.h"
#include "app/cli/verbs/verbs.h"

namespace shardscope::cli {

namespace {

Command makeProgram()
{
    Command out;
    out.name = "shardscope";
    out.summary = "inspect, verify and reshard DeepSpeed checkpoints";
    out.description = {
        "Shows what a DeepSpeed checkpoint holds and where every element of every parameter and optimizer "
        "state is stored, and rewrites it for another number of GPUs. It needs neither Python nor a GPU, "
        "never executes code from a file and never changes its input.",
        "PATH may be a run folder (with `latest`), a tag folder, the folder of a trainer that wraps "
        "DeepSpeed, "
        "or one file of a checkpoint: the level is detected. Weights in safetensors files and torch state "
        "dicts can be opened, too. They can be shown, compared and exported, but not rewritten. PyTorch "
        "Distributed Checkpoints can be opened; those that `convert --to dcp` wrote can be rewritten, too.",
        "Answers go to standard output, everything else to standard error. `shardscope COMMAND --help` "
        "explains one command, `shardscope help` lists the pages of the manual, such as `shardscope help "
        "trainer`.",
    };
    out.options = {
        {.name = "--version", .letter = 'V', .help = "Print version and build; with --json as an object."},
        {.name = "--mpi",
            .help = "Share the work of a command with the other processes of an MPI job. Only for commands "
                    "with this option."}};
    out.commonOptions = outputOptions();
    out.examples = {
        {"shardscope inspect runs/llama", "What is in this folder?"},
        {"shardscope reshard runs/llama runs/llama-16 --world-size 16", "Resume on 16 GPUs:"},
        {"shardscope verify runs/llama-16 --against runs/llama",
            "Is the result complete, with the same state?"},
    };
    out.children = {inspectCommand(), tagsCommand(), paramsCommand(), layoutCommand(), filesCommand(),
        showCommand(), statsCommand(), diffCommand(), checkCommand(), verifyCommand(), fingerprintCommand(),
        repairCommand(), ensureCommand(), reshardCommand(), convertCommand(), exportCommand(),
        skeletonCommand(), planCommand(), runCommand(), emitCommand(), serveCommand(), jobsCommand(), cleanCommand(),
        completionCommand(), helpCommand()};
    return out;
}

} // namespace

const Command& program()
{
    static const Command kProgram = makeProgram();
    return kProgram;
}

} // namespace shardscope::cli
