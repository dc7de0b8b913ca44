// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/checkpoint/model/require.h"
#include "core/compare/diff/same_degrees.h"
#include "core/report/answers/fingerprint_report.h"

#include <array>

namespace shardscope::cli {

namespace {

constexpr uint64_t kAnswerLimitBytes = uint64_t{256} << 20;

Status checkUsage(const Arguments& arguments)
{
    // Options that ask for different answers.
    static constexpr std::array<std::pair<const char*, const char*>, 9> kApart{{
        {"--combine", "--partial"},
        {"--combine", "--per-parameter"},
        {"--combine", "--join"},
        {"--combine", "--tag"},
        {"--combine", "--kind"},
        {"--combine", "--root"},
        {"--combine", "--donor"},
        {"--partial", "--per-parameter"},
        {"--partial", "--join"},
    }};
    for (const auto& [one, other] : kApart) {
        if (arguments.has(one) && arguments.has(other))
            return fail(ErrorCode::Usage, std::string(one) + " and " + other + " cannot be combined");
    }
    if (arguments.has("--patterns") && !arguments.has("--join"))
        return fail(ErrorCode::Usage, "--patterns needs --join");
    const auto paths = arguments.allOf("PATH");
    if (paths.size() > 1 && !arguments.has("--combine"))
        return fail(ErrorCode::Usage, "too many arguments: `" + paths[1] + "`", {},
            "use " + Hint::add("--combine")
                + " to add several answers, or --root to name more folders of one checkpoint");
    return {};
}

Result<int> runCombine(Session& session)
{
    const auto paths = session.arguments().allOf("PATH");
    std::optional<PartialFingerprint> sum;
    for (const std::string& path : paths) {
        SHARDSCOPE_TRY(const std::string text, session.files().readSmall(path, kAnswerLimitBytes));
        SHARDSCOPE_TRY(PartialFingerprint partial, parsePartial(text, path));
        if (!sum)
            sum = std::move(partial);
        else if (auto added = addPartial(*sum, partial); !added) {
            added.error().path = path;
            return forward(std::move(added).error());
        }
    }
    Output& output = session.output();
    const PartialSubject subject{nullptr, paths};
    if (output.json())
        writePartialJson(output.answer(), subject, *sum);
    else
        writePartialText(output.answer(), output.answerStyle(), subject, *sum);
    return sum->whole() ? kExitDone : kExitNo;
}

Result<CheckpointPtr> mergedCheckpoint(Session& session, const CheckpointPtr& checkpoint)
{
    SHARDSCOPE_CHECK(requireComplete(*checkpoint));
    SHARDSCOPE_TRY(const std::optional<SliceRules> rules, rulesAsked(session));
    return inOneSlice(checkpoint, rules ? &*rules : nullptr);
}

Result<int> runFingerprint(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_CHECK(checkUsage(arguments));
    if (arguments.has("--combine"))
        return runCombine(session);
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(arguments));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    SHARDSCOPE_CHECK(requireKnownKind(*opened.checkpoint));
    SHARDSCOPE_TRY(const ComputeChoice compute,
        computeAsked(session, ComputeTask::Transform, bytesOf(*opened.checkpoint), jobs));
    Workers workers(jobs, *compute.backend);
    workers.shared = session.shared();
    const AnswerContext context = session.context(opened, &compute);
    Output& output = session.output();
    if (arguments.has("--partial")) {
        SHARDSCOPE_TRY(const PartialFingerprint partial,
            digestFiles(session.files(), opened.checkpoint, workers, session.job()));
        const PartialSubject subject{&context, {}};
        if (output.json())
            writePartialJson(output.answer(), subject, partial);
        else
            writePartialText(output.answer(), output.answerStyle(), subject, partial);
        return kExitDone;
    }
    CheckpointPtr checkpoint = opened.checkpoint;
    if (arguments.has("--join")) {
        SHARDSCOPE_TRY(checkpoint, mergedCheckpoint(session, checkpoint));
    }
    SHARDSCOPE_TRY(const StateFingerprint fingerprint,
        fingerprintState(session.files(), checkpoint, workers, session.job()));
    const FingerprintSubject subject{
        context, checkpoint, arguments.has("--join"), arguments.has("--per-parameter")};
    if (output.json())
        writeFingerprintJson(output.answer(), subject, fingerprint);
    else
        writeFingerprintText(output.answer(), output.answerStyle(), subject, fingerprint);
    return kExitDone;
}

} // namespace

Command fingerprintCommand()
{
    Positional path = pathArgument();
    path.help += " With --combine: answer files.";
    path.repeats = true;
    return {
        .name = "fingerprint",
        .summary = "print a digest of the training state, for any number of ranks",
        .description
        = {"Prints a 128-bit digest that depends only on the training state: masters, optimizer states, "
           "frozen parameters, buffers, steps, options, loss scaler and scheduler. Checkpoints with the same "
           "state have the same digest, whatever their number of ranks, stage and form. `verify` shows this "
           "digest, and the manifest of every rewritten checkpoint records it.",
            "It is the sum of the digests that are listed with it, one per state and scalar. They show what "
            "differs. Every byte is read once, and CRCs are checked. The command refuses a checkpoint with "
            "damaged or missing values.",
            "When the ranks' files are on several machines, run `--partial --json` on each machine and add "
            "the answers with `--combine`. All files must be of one run and step. A file may be in several "
            "answers if its content is the same. The exit status is 1 while files are missing."},
        .positionals = {path},
        .options = joined(
            {{.name = "--per-parameter", .help = "Also print the digest of every state of every parameter."},
                {.name = "--join",
                    .help = "Merge tensor slices and pipeline stages before digesting. The digest is then "
                            "the same for any number of them. Default: each is digested as it is stored."},
                {.name = "--patterns",
                    .kind = ValueKind::File,
                    .valueName = "FILE",
                    .help = "How to merge slices with --join, if the checkpoint does not record it."},
                {.name = "--partial",
                    .help
                    = "Digest the files that exist here; files of other ranks may be missing. ZeRO-1 "
                      "and 2 need mp_rank_*_model_states.pt on every machine, because it records shapes."},
                {.name = "--combine",
                    .help
                    = "Add the answers: every PATH is a file with an answer of `fingerprint --partial "
                      "--json`. A checkpoint file in several answers counts once. Answers of another "
                      "run, step, number of ranks or file content are refused. While files are missing, "
                      "the answer names them and the exit status is 1."},
                mpiOption()},
            joined(computeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope fingerprint runs/llama", "Which state is it?"},
            {"shardscope fingerprint runs/llama --partial --json > node3.json", "The files of one node:"},
            {"shardscope fingerprint --combine node*.json", "The files of all nodes together:"}},
        .run = runFingerprint,
        .values = Command::Values::Needed,
        .reads = true,
    };
}

} // namespace shardscope::cli
