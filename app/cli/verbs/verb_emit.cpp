// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/checkpoint/model/require.h"
#include "core/report/answers/emit_report.h"

#include <unistd.h>

namespace shardscope::cli {

namespace {

constexpr uint64_t kAnswerLimitBytes = uint64_t{1} << 30;

Result<EmitOptions> optionsAsked(Session& session, uint64_t bytes)
{
    EmitOptions out;
    SHARDSCOPE_TRY(out.jobs, jobsAsked(session.arguments()));
    out.memoryLimitBytes = session.arguments().size("--memory-limit").value_or(out.memoryLimitBytes);
    SHARDSCOPE_TRY(out.compute, computeAsked(session, ComputeTask::Transform, bytes, out.jobs));
    return out;
}

Result<int> runCombine(Session& session, const WritePlan& plan, const std::vector<std::string>& paths)
{
    std::vector<Emitted> emitted;
    for (const std::string& path : paths) {
        SHARDSCOPE_TRY(const std::string text, session.files().readSmall(path, kAnswerLimitBytes));
        SHARDSCOPE_TRY(emitted.emplace_back(), parseEmitted(text, path));
    }
    SHARDSCOPE_TRY(const EmitOptions options, optionsAsked(session, 0));
    const auto sum = combineEmitted(session.files(), plan, emitted, options, session.job());
    if (!sum)
        return forward(refusal(sum.error()));
    Output& output = session.output();
    if (output.json())
        writeEmittedSumJson(output.answer(), *sum);
    else
        writeEmittedSumText(output.answer(), output.answerStyle(), *sum);
    return sum->missing.empty() ? kExitDone : kExitNo;
}

Result<int> runEmit(Session& session)
{
    const Arguments& arguments = session.arguments();
    const std::vector<std::string> names = arguments.allOf("FILE");
    const bool combines = arguments.has("--combine");
    for (const char* option : {"--to", "--digest"}) {
        if (combines && arguments.has(option))
            return fail(ErrorCode::Usage, "--combine and " + std::string(option) + " cannot be combined");
    }
    if (!combines && names.size() > 1)
        return fail(ErrorCode::Usage, "too many arguments: `" + names[1] + "`", {},
            "use " + Hint::add("--combine") + " to add several answers");
    int descriptor = STDOUT_FILENO;
    if (const std::string to = arguments.text("--to"); !to.empty() && to != kStandardOutput) {
        SHARDSCOPE_TRY(descriptor, descriptorNumber(to));
    }
    std::string destination;
    SHARDSCOPE_TRY(
        const PlannedAgain again, planSavedAgain(session, arguments.positional("PLAN"), destination));
    const WritePlan& plan = *again.plan;
    if (combines)
        return runCombine(session, plan, names);
    SHARDSCOPE_TRY(const uint32_t file, plannedFileNamed(plan, names.front()));
    SHARDSCOPE_TRY(io::StreamFile stream, streamTo(descriptor, plan));
    SHARDSCOPE_TRY(const EmitOptions options, optionsAsked(session, plan.files[file].bytes));
    Output& output = session.output();
    if (descriptor == STDOUT_FILENO)
        SHARDSCOPE_CHECK(output.writeFile({}));
    const auto emitted = emitFile(
        session.files(), plan, file,
        [&](std::span<const uint8_t> bytes) { return stream.write(bytes, session.job()); }, options,
        session.job());
    if (!emitted)
        return forward(refusal(emitted.error()));
    if (output.json())
        writeEmittedJson(output.answer(), *emitted, arguments.has("--digest"));
    else if (!output.quiet())
        writeEmittedText(output.answer(), output.answerStyle(), *emitted);
    return kExitDone;
}

} // namespace

Command emitCommand()
{
    return {
        .name = "emit",
        .summary = "write one output file of a saved plan to a pipe",
        .description
        = {"Writes exactly the bytes that `shardscope run` would write as one output file, to standard "
           "output or to a descriptor that the caller opened. Nothing is written to the disk, and only those "
           "ranges of the source are read that the file needs.",
            "The plan's answer lists its files. As `run`, the command plans again and refuses a source that "
            "has changed. If the exit status is not 0, nothing of what was written can be used.",
            "The answer follows on standard error if the bytes went to standard output. When several "
            "processes emit the files of one plan, each keeps its answer with --digest and --json, and one "
            "of them checks all answers with --combine: all files were emitted, every element is in them "
            "once, and the sources match their checksums. It prints the fingerprint that `run` would record. "
            "The exit status is 1 while files are missing."},
        .positionals = {{.name = "PLAN", .kind = ValueKind::File, .help = "The saved plan."},
            {.name = "FILE",
                .kind = ValueKind::File,
                .help = "The output file, relative to the plan's target. With --combine: files of answers.",
                .repeats = true}},
        .options = joined(
            {{.name = "--to",
                 .kind = ValueKind::Text,
                 .valueName = "FD",
                 .help = "The number of an open descriptor to write to, or - for standard output. Default: "
                         "-."},
                {.name = "--digest",
                    .help = "Add to the JSON answer what --combine needs. It grows with the number of "
                            "parameters."},
                {.name = "--combine", .help = "Emit nothing. Check and add the answers of all processes."},
                memoryOption()},
            computeOptions()),
        .commonOptions = outputOptions(),
        .examples
        = {{"shardscope emit llama-16.json mp_rank_00_model_states.pt | sha256sum", "To another program:"},
            {"shardscope emit llama-16.json bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt --to 5 --digest "
             "--json 5>rank3.pt",
                "To a descriptor that the caller opened:"},
            {"shardscope emit llama-16.json --combine rank*.json", "Did all ranks get everything?"}},
        .run = runEmit,
    };
}

} // namespace shardscope::cli
