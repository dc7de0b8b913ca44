// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/parameter_words.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/report/layout/layout_report.h"

namespace shardscope::cli {

namespace {

Result<int> answerAddress(Session& session, const OpenedCheckpoint& opened, const std::string& text)
{
    SHARDSCOPE_TRY(const Address address, addressAsked(*opened.checkpoint, text));
    SHARDSCOPE_TRY(const Location location, locate(*opened.checkpoint, address));
    Output& output = session.output();
    if (output.json())
        writeLocationJson(output.answer(), session.context(opened), text, location);
    else
        writeLocationText(output.answer(), output.answerStyle(), text, location);
    return kExitDone;
}

Result<int> runLayout(Session& session)
{
    const Arguments& arguments = session.arguments();
    if (arguments.has("--address") && (arguments.has("--rank") || arguments.has("--param")))
        return fail(ErrorCode::Usage, "--address cannot be combined with --rank or --param");
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openModel());
    if (arguments.has("--address"))
        return answerAddress(session, opened, arguments.text("--address"));
    LayoutQuestion question;
    if (arguments.has("--rank")) {
        SHARDSCOPE_TRY(question.rank, parseRank(arguments.text("--rank"), *opened.checkpoint));
    }
    if (arguments.has("--param")) {
        SHARDSCOPE_TRY(question.param, paramAsked(*opened.checkpoint, arguments.text("--param")));
    }
    Output& output = session.output();
    if (output.json())
        writeLayoutJson(output.answer(), session.context(opened), question);
    else
        writeLayoutText(output.answer(), output.answerStyle(), session.context(opened), question);
    return kExitDone;
}

} // namespace

Command layoutCommand()
{
    return {
        .name = "layout",
        .summary = "show which rank and file holds what, padding included",
        .description = {"Shows, for every param group (and sub-group), the size of a partition, its "
                        "alignment, and the elements and padding of each rank. Padding is `stored` when its "
                        "bytes are in the file, and `implied` when they are not.",
            "With --rank or --param it also lists every fragment: a range of one state of one parameter, its "
            "position in the rank's flat buffer, and the file and bytes that hold it.",
            "--address shows one position in all its notations: NAME#STATE[a:b] (elements of a parameter), "
            "dp3.tp0.pp0/group1+4096@exp_avg (an element of a rank's flat buffer), FILE!data/7+512 (a byte "
            "of a record) or FILE+4096 (a byte of a file)."},
        .positionals = {pathArgument()},
        .options = joined({{.name = "--rank",
                               .letter = 'r',
                               .kind = ValueKind::Text,
                               .valueName = "RANK",
                               .help = "Show only this rank, with its fragments: dp3 or dp3.tp0.pp0."},
                              {.name = "--param",
                                  .letter = 'p',
                                  .kind = ValueKind::Text,
                                  .valueName = "NAME",
                                  .help = "Show only the groups that hold this parameter, with its "
                                          "fragments."},
                              {.name = "--address",
                                  .letter = 'a',
                                  .kind = ValueKind::Text,
                                  .valueName = "ADDRESS",
                                  .help = "Translate this address, and show nothing else."},
                              copyOption()},
            checkpointOptions()),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope layout runs/llama --rank dp3", "What does rank 3 hold?"},
            {"shardscope layout runs/llama --param model.norm.weight", "Which ranks hold this parameter?"},
            {"shardscope layout runs/llama --address 'model.norm.weight#exp_avg[120:121]'",
                "Which byte is element 120 of this moment?"}},
        .run = runLayout,
        .reads = true,
    };
}

} // namespace shardscope::cli
