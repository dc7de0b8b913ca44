// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/option_values.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/write_job.h"
#include "app/cli/verbs/verbs.h"
#include "core/base/nearest_word.h"
#include "core/compare/diff/judged_diff.h"
#include "core/layout/slices/slice_rules.h"
#include "core/report/answers/diff_report.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace shardscope::cli {

namespace {

constexpr uint64_t kDefaultLimit = 40;

Result<double> toleranceAsked(const Arguments& arguments, const char* option)
{
    const std::string text = arguments.text(option);
    if (text.empty())
        return 0.0;
    double out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size() || !(out >= 0))
        return fail(ErrorCode::Usage,
            std::string(option)
                + " takes a number of at least 0, not "
                  "`"
                + text + "`");
    return out;
}

/// A state that neither checkpoint has would compare nothing. That must not be reported as equal.
Status checkStates(const std::vector<std::string>& asked, const Checkpoint& left, const Checkpoint& right)
{
    std::vector<std::string> known = left.stateNames();
    std::ranges::copy(right.stateNames(), std::back_inserter(known));
    for (const std::string& state : asked) {
        if (std::ranges::find(known, state) == known.end())
            return fail(ErrorCode::Usage, "neither checkpoint has a state `" + state + "`", {},
                nearestHint(state, known, Hint::command("inspect") + " lists the states"));
    }
    return {};
}

struct Compared {
    OpenedCheckpoint left;
    OpenedCheckpoint right;
    ComputeChoice compute;
    JudgedDiff judged;
};

Result<Compared> compare(Session& session)
{
    const Arguments& arguments = session.arguments();
    DiffOptions options;
    SHARDSCOPE_TRY(options.tolerance.relative, toleranceAsked(arguments, "--rtol"));
    SHARDSCOPE_TRY(options.tolerance.absolute, toleranceAsked(arguments, "--atol"));
    SHARDSCOPE_TRY(options.workers.jobs, jobsAsked(arguments));
    options.states = arguments.all("--state");
    Compared out;
    SHARDSCOPE_TRY(out.left, session.openModel());
    SHARDSCOPE_TRY(
        out.right, session.openOther(arguments.positional("OTHER"), arguments.text("--other-tag")));
    const CheckpointPtr& left = out.left.checkpoint;
    const CheckpointPtr& right = out.right.checkpoint;
    SHARDSCOPE_CHECK(checkStates(options.states, *left, *right));
    SHARDSCOPE_TRY(const std::optional<SliceRules> rules, rulesAsked(session));
    SHARDSCOPE_TRY(out.compute,
        computeAsked(
            session, ComputeTask::Comparison, bytesOf(*left) + bytesOf(*right), options.workers.jobs));
    options.workers.backend = out.compute.backend.get();
    options.workers.shared = session.shared();
    SHARDSCOPE_TRY(out.judged,
        judgeDiff(session.files(), {left, right, rules ? &*rules : nullptr}, options, session.job()));
    return out;
}

Result<int> runDiff(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_TRY(const std::vector<std::string> allowed, allowedCodes(arguments));
    SHARDSCOPE_TRY(const Compared compared, compare(session));
    const JudgedDiff& judged = compared.judged;
    const DiffAnswer answer{session.context(compared.left, &compared.compute),
        {*compared.right.checkpoint, arguments.positional("OTHER"), compared.right.selectedFile, nullptr},
        judged.diff, judged.verdict, judged.causes, arguments.count("--limit").value_or(kDefaultLimit)};
    Output& output = session.output();
    if (output.json())
        writeDiffJson(output.answer(), answer);
    else
        writeDiffText(output.answer(), output.answerStyle(), answer);
    for (const std::string& why : judged.diff.notCompared.codes()) {
        if (std::ranges::find(allowed, why) == allowed.end())
            return exitCode(ErrorCode::Refused);
    }
    return judged.diff.matches() ? kExitDone : kExitNo;
}

std::vector<Option> ownOptions()
{
    return {{.name = "--rtol",
                .kind = ValueKind::Text,
                .valueName = "R",
                .help = "Values count as equal up to ATOL + R × |right|. Default: 0, and bits decide: NaN of "
                        "another payload and zeros of another sign are different. With a tolerance NaN is "
                        "equal to NaN. Steps and options must be equal all the same."},
        {.name = "--atol", .kind = ValueKind::Text, .valueName = "A", .help = "See --rtol. Default: 0."},
        {.name = "--state",
            .kind = ValueKind::Text,
            .valueName = "STATE",
            .help = "Compare only this state, such as fp32 or exp_avg. Can be repeated.",
            .repeats = true},
        {.name = "--allow",
            .kind = ValueKind::Text,
            .valueName = "CODE",
            .help = "Accept that something was not compared for this reason, instead of exit "
                    "status 6. Can be repeated.",
            .repeats = true},
        {.name = "--other-tag",
            .kind = ValueKind::Text,
            .valueName = "TAG",
            .help = "The tag of OTHER. Default: the tag that its `latest` names."},
        {.name = "--patterns",
            .kind = ValueKind::File,
            .valueName = "FILE",
            .help = "How to merge tensor slices when the two differ in them and the checkpoints "
                    "do not record it."},
        {.name = "--limit",
            .letter = 'l',
            .kind = ValueKind::Count,
            .valueName = "N",
            .help = "List at most N differences; --json lists all. Default: 40."},
        mpiOption()};
}

} // namespace

Result<std::string> comparedAsked(Session& session)
{
    SHARDSCOPE_TRY(const Compared compared, compare(session));
    return wireText(compared.judged);
}

Command diffCommand()
{
    return {
        .name = "diff",
        .summary = "compare two checkpoints and say why they differ",
        .description
        = {"Compares every parameter, every optimizer state, steps, options of param groups, loss scaler, "
           "scheduler and counters of any two checkpoints, whatever their number of ranks, ZeRO stage and "
           "form. Padding, and 16-bit copies of weights that have masters, are not part of the training "
           "state.",
            "It also compares the next optimizer step of both, with gradients of 0 and with gradients of 1, "
            "and says what the difference means for further training. It names known causes: zeroed moments, "
            "a step that was reset, swapped tensors or ranks, flat groups read in another order than "
            "round_robin_gradients distributed them, one stale rank, masters refilled from 16-bit weights "
            "and others. The exit status is 1 when anything differs by more than the tolerance, and 6 when "
            "something could not be compared: neither side has it, or a side has it in a form that is not "
            "understood. The answer then says what and why.",
            "Without a tolerance bits decide, as in a fingerprint: NaN of another payload and zeros of "
            "another sign are different. With one, values are compared, and NaN is equal to NaN."},
        .positionals = {pathArgument(),
            {.name = "OTHER",
                .kind = ValueKind::Path,
                .help = "The checkpoint to compare it with: a run, tag or universal folder, or weights."}},
        .options = joined(ownOptions(), joined(computeOptions(), checkpointOptions())),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope diff runs/llama runs/llama-16", "Is the resharded one the same?"},
            {"shardscope diff runs/llama runs/llama --other-tag global_step900",
                "What changed since that "
                "tag?"},
            {"shardscope diff runs/a runs/b --rtol 1e-5 --state fp32", "Masters only, with a tolerance:"}},
        .run = runDiff,
        .values = Command::Values::Needed,
        .reads = true,
    };
}

} // namespace shardscope::cli
