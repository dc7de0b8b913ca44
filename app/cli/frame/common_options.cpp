// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"

#include "core/checkpoint/open/source_arguments.h"
#include "core/plan/target/reshard_options.h"

#include <algorithm>
#include <iterator>

namespace shardscope::cli {

std::vector<Option> outputOptions()
{
    return {
        {.name = "--json", .help = "Print the answer as exactly one JSON object on standard output."},
        {.name = "--quiet",
            .letter = 'q',
            .help
            = "Print no progress and no warnings. Commands that write files print at most a line that says "
              "what was written, and `repair` also findings that are still there."},
        {.name = "--verbose", .letter = 'v', .help = "Log each step on standard error."},
        {.name = "--no-color", .help = "Print no colours, as with a non-empty NO_COLOR in the environment."},
        {.name = "--progress",
            .kind = ValueKind::Choice,
            .valueName = "MODE",
            .help = "Progress on standard error: a line on a terminal (auto), nothing (none), or JSON lines "
                    "(json). Default: auto.",
            .choices = {"auto", "none", "json"}},
        {.name = "--bwlimit",
            .kind = ValueKind::Size,
            .valueName = "RATE",
            .help
            = "Read and write at most RATE bytes a second, both together, such as 200M. For file systems "
              "that others use, too. Default: no limit."},
        {.name = "--log-file",
            .kind = ValueKind::NewFile,
            .valueName = "FILE",
            .help = "Append a log with times to FILE."},
        {.name = "--no-remote-install",
            .help = "Of a path on another host ([user@]host:/path): fail where the host has no shardscope of "
                    "this version. Default: copy this program there, into the user's cache."},
        {.name = "--help", .letter = 'h', .help = "Show this text."},
    };
}

Option copyOption()
{
    return {.name = "--copy",
        .help
        = "Also copy the command that opens this page of the window, for the machine in front of you: the "
          "terminal puts it into its clipboard (OSC 52), also through ssh. It opens the same checkpoint, and "
          "selects the same address, parameter or rank; it has no other options, such as those of a check. "
          "The command is shown, and in a session of ssh it names this host. Needs a terminal as standard "
          "error."};
}

std::vector<Option> tagOptions()
{
    return {
        {.name = "--tag",
            .letter = 't',
            .kind = ValueKind::Text,
            .valueName = "TAG",
            .help = "The tag to open, a folder of the run. Default: the tag that `latest` names."},
        {.name = "--kind",
            .kind = ValueKind::Choice,
            .valueName = "KIND",
            .help = "Open PATH as this kind, where the detected one is wrong: of several kinds in one folder "
                    "this one, and zero1, zero2 or bf16 in place of each other. Another kind than that of "
                    "the files is an error.",
            .choices = askedKinds()},
        {.name = "--root",
            .kind = ValueKind::Folder,
            .valueName = "DIR",
            .help = "Another folder with files of the same checkpoint, for example when every node saved to "
                    "its own disk, or the folder that a run with NVMe offload swaps to (its nvme_path): "
                    "optimizer state that the checkpoint does not hold is read from there. Can be repeated.",
            .repeats = true},
    };
}

std::vector<Option> checkpointOptions()
{
    return joined(tagOptions(),
        {{.name = "--donor",
            .kind = ValueKind::Folder,
            .valueName = "DIR",
            .help
            = "Read a swap folder with an earlier checkpoint: PATH is the folder that a run with NVMe "
              "offload swapped to before it ended without a save. DIR is an earlier ZeRO-3 checkpoint of the "
              "same model and number of ranks; names, shapes, steps and options come from it, and states of "
              "sub-groups that were too small to be swapped. The result is marked."}});
}

Option jobsOption()
{
    return {.name = "--jobs",
        .letter = 'j',
        .kind = ValueKind::Count,
        .valueName = "N",
        .help = "Worker threads. The result is the same for any number. Default: one per processor, at most "
                "16."};
}

std::vector<Option> computeOptions()
{
    return {
        jobsOption(),
        {.name = "--device",
            .kind = ValueKind::Text,
            .valueName = "DEVICE",
            .help
            = "The device for computations: auto, cpu, cpu:plain, cpu:torch (LibTorch), cuda (all GPUs) or "
              "cuda:I. auto takes the fastest for the amount of data, after a short measurement that is kept "
              "in the user's cache; below 2 GiB that is plain code. A named device that does not exist is an "
              "error (exit status 4). If a GPU fails during the work, plain code continues without it. "
              "Files, "
              "digests and counts are the same on all devices; means and norms may differ in the last "
              "digits. Default: auto."},
        {.name = "--device-memory",
            .kind = ValueKind::Size,
            .valueName = "SIZE",
            .help = "Max memory to use on each GPU. Default: 512M."},
    };
}

std::vector<Option> convertOptions()
{
    std::vector<Option> out{{.name = "--to",
        .kind = ValueKind::Choice,
        .valueName = "FORM",
        .help = "The form of the result: universal, or dcp (PyTorch Distributed Checkpoint). Required.",
        .choices = {"universal", "dcp"},
        .required = true}};
    constexpr std::string_view kOfAnyTarget[]
        = {"--optimizer-option", "--patterns", "--tie", "--tag-out", "--no-latest", "--allow"};
    for (Option& option : optionsOf<ReshardOptions>()) {
        if (std::ranges::find(kOfAnyTarget, option.name) != std::end(kOfAnyTarget))
            out.push_back(std::move(option));
    }
    return out;
}

Option mpiOption()
{
    return {.name = "--mpi",
        .help
        = "Share the work with the other processes of an MPI job, as in `mpirun -n 8 shardscope --mpi …`. "
          "The first one answers. Needs the module for that MPI."};
}

Option memoryOption()
{
    return {.name = "--memory-limit",
        .kind = ValueKind::Size,
        .valueName = "SIZE",
        .help = "Total size of payload buffers, such as 512M. Default: 256M."};
}

std::vector<Option> writeOptions()
{
    return joined(
        {
            {.name = "--dry-run", .letter = 'n', .help = "Show the plan and write nothing."},
            {.name = "--force",
                .letter = 'f',
                .help
                = "Replace the target when it exists, also a tag that DeepSpeed wrote. A tag with files "
                  "that neither DeepSpeed nor Shardscope writes is never replaced."},
            {.name = "--no-verify", .help = "Do not read the output again to compare it."},
            {.name = "--sha256",
                .help = "Record SHA-256 of every file in the manifest, which is slower. Default: XXH3-128, "
                        "which finds damage but no intended change."},
            memoryOption(),
            {.name = "--restart",
                .help = "Discard the work folder of an interrupted job and start again. Default: continue "
                        "it."},
            mpiOption(),
            {.name = "--part",
                .kind = ValueKind::Text,
                .valueName = "I/N",
                .help = "Write only part I of N, with I from 0 to N - 1: for job arrays. Run all parts in "
                        "any order on any machines, again after a failure, then the command with --finish."},
            {.name = "--finish",
                .help = "Combine what all parts have written, verify it and publish it. Refused while one is "
                        "missing."},
        },
        computeOptions());
}

Positional pathArgument()
{
    return {.name = "PATH",
        .kind = ValueKind::Path,
        .help
        = "A run folder (with `latest`), a tag folder, the folder of a trainer that wraps DeepSpeed, or one "
          "file of a checkpoint. The level is detected."};
}

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second)
{
    first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
    return first;
}

} // namespace shardscope::cli
