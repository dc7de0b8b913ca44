// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/parameter_words.h"
#include "app/cli/jobs/session.h"
#include "app/cli/jobs/text_file.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/answers/show_report.h"
#include "core/report/documents/npy_file.h"

namespace shardscope::cli {

namespace {

constexpr uint64_t kDefaultLimit = 1000;
constexpr uint64_t kHighestLimit = 1'000'000; // use --npy for more

Result<int> runShow(Session& session)
{
    const Arguments& arguments = session.arguments();
    const uint64_t limit = arguments.count("--limit").value_or(kDefaultLimit);
    if (limit > kHighestLimit)
        return fail(ErrorCode::Usage, "--limit is at most " + std::to_string(kHighestLimit), {},
            "write the whole tensor with --npy FILE");
    if (arguments.has("--force") && !arguments.has("--npy"))
        return fail(ErrorCode::Usage, "--force needs --npy");
    SHARDSCOPE_CHECK(
        requireFile(arguments.text("--npy"), "the file of --npy", "name a file, such as tensor.npy"));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openModel());
    const Checkpoint& checkpoint = *opened.checkpoint;
    SHARDSCOPE_TRY(const Address address, addressAsked(checkpoint, arguments.positional("ADDRESS")));
    SHARDSCOPE_TRY(const ValueRange range, valueRangeOf(checkpoint, address));
    SHARDSCOPE_TRY(const ShownValues values, readValues(session.files(), checkpoint, range, limit));
    std::optional<NpyReport> npy;
    if (arguments.has("--npy")) {
        SHARDSCOPE_TRY(npy,
            writeNpyFile(session.files(), checkpoint, range.param, range.state, range.dtype,
                arguments.text("--npy"), arguments.has("--force"), session.job()));
    }
    Output& output = session.output();
    if (output.json())
        writeShowJson(output.answer(), session.context(opened), values, npy);
    else
        writeShowText(output.answer(), output.answerStyle(), session.context(opened), values, npy);
    return kExitDone;
}

} // namespace

Command showCommand()
{
    return {
        .name = "show",
        .summary = "print values of a parameter or of one of its states",
        .description
        = {"Prints elements of the flattened tensor, whichever ranks and files hold them. Only the printed "
           "elements are read. Values in missing or damaged files are shown as missing (null with --json).",
            "The address is NAME, NAME#STATE or NAME#STATE[a:b]; NAME alone means the fp32 masters, or the "
            "weights if there are no masters. A position such as dp0.tp0.pp0/group0+42 or FILE!data/7+512 "
            "shows the parameter there, from that element on. `shardscope params` lists the names of "
            "states."},
        .positionals
        = {pathArgument(), {.name = "ADDRESS", .kind = ValueKind::Text, .help = "What to show; see above."}},
        .options = joined(
            {{.name = "--limit",
                 .letter = 'l',
                 .kind = ValueKind::Count,
                 .valueName = "N",
                 .help = "Print at most N elements. Default: 1000."},
                {.name = "--npy",
                    .kind = ValueKind::NewFile,
                    .valueName = "FILE",
                    .help = "Also write the whole tensor as a NumPy file. Types that NumPy lacks (bfloat16, "
                            "float8) are converted to float32, exactly."},
                {.name = "--force", .letter = 'f', .help = "Replace FILE when it exists."}, copyOption()},
            checkpointOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope show runs/llama model.norm.weight --limit 8", "The first eight masters:"},
            {"shardscope show runs/llama 'model.norm.weight#exp_avg[120:128]'", "Part of a moment:"},
            {"shardscope show runs/llama lm_head.weight --limit 0 --npy head.npy",
                "The whole tensor as a file:"}},
        .run = runShow,
        .values = Command::Values::Needed,
        .reads = true,
    };
}

} // namespace shardscope::cli
