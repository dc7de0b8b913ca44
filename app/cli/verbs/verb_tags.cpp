// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/engine/verify/run_tags.h"
#include "core/report/answers/tags_report.h"
#include "core/report/text/printable.h"

namespace shardscope::cli {

namespace {

/// All tags. Of those that seem complete, the newest one is confirmed.
Result<std::vector<TagSummary>> allTags(TagReader& reader, const RunTags& run)
{
    std::vector<TagSummary> out;
    for (const std::string& tag : run.names) {
        SHARDSCOPE_TRY(TagSummary summary, reader.summarize(tag));
        out.push_back(std::move(summary));
    }
    SHARDSCOPE_CHECK(reader.confirmNewest(out));
    return out;
}

/// The runs below PATH, which is none: `why` says so.
Result<std::optional<RunsAnswer>> runsIn(Session& session, const Error& why, unsigned jobs)
{
    const std::string path = session.arguments().positional("RUN");
    SHARDSCOPE_TRY(RunsFolder folder, runsInsteadOf(session.files(), path, why, session.job()));
    if (folder.found.paths.empty())
        return std::nullopt;
    RunsAnswer out{std::move(folder), {}};
    for (const std::string& run : out.folder.found.paths) {
        SHARDSCOPE_TRY(
            RunSummary summary, summarizeRun(session.files(), out.folder, run, jobs, session.job()));
        out.runs.push_back(std::move(summary));
    }
    return out;
}

void writeNewest(Output& output, const TagsAnswer& answer)
{
    const TagSummary* newest = answer.newestComplete();
    for (auto tag = answer.tags.rbegin(); tag != answer.tags.rend() && &*tag != newest; ++tag) {
        if (!output.quiet())
            output.message("passed over " + printable(tag->folder.string()) + ": "
                + printable(whyIncomplete(*tag)) + "\n");
    }
    if (newest != nullptr)
        output.answer()(newest->folder.string() + "\n");
    else
        output.message(noTagText(answer.run) + "\n");
}

Result<int> runTags(Session& session)
{
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(session.arguments()));
    TagsAnswer answer;
    answer.path = session.arguments().positional("RUN");
    const bool newestOnly = session.arguments().has("--newest-complete");
    auto run = (newestOnly ? tagsSoFar : tagsOf)(session.files(), answer.path, session.job());
    if (!run && !newestOnly) {
        SHARDSCOPE_TRY(answer.runs, runsIn(session, run.error(), jobs));
    }
    if (!run && !answer.runs)
        return forward(std::move(run).error());
    if (answer.runs) {
        answer.run.base = answer.runs->folder.path;
    } else {
        answer.run = std::move(*run);
        TagReader reader(session.files(), answer.run, jobs, session.job());
        SHARDSCOPE_TRY(answer.tags, newestOnly ? reader.downToNewestComplete() : allTags(reader, answer.run));
    }
    Output& output = session.output();
    if (output.json())
        writeTagsJson(output.answer(), answer);
    else if (newestOnly)
        writeNewest(output, answer);
    else
        writeTagsText(output.answer(), output.answerStyle(), answer);
    return newestOnly && answer.newestComplete() == nullptr ? kExitNo : kExitDone;
}

} // namespace

Command tagsCommand()
{
    return {
        .name = "tags",
        .summary = "list the tags of a run, or the runs in a folder, and find the newest complete tag",
        .description
        = {"Lists the tags of a run with step, time, size and number of ranks. A tag is complete if every "
           "file that stock DeepSpeed needs exists and its header is whole. Of the newest such tag, the "
           "metadata of all files are read, too. Values are not read: `shardscope check --depth bytes` "
           "reads them.",
            "In the output folder of Trainer or Accelerate, each `checkpoint-N` is a tag.",
            "Of a folder that holds runs, the runs are listed, each with its newest complete tag. Names, "
            "sizes "
            "and headers of its newest tags are read, down to the first complete one. Links are not "
            "followed, "
            "and at most 4 levels of folders are searched.",
            "With --newest-complete the answer is one line: the folder of the newest complete tag. Tags that "
            "are not complete are reported on standard error. Without a complete tag, and before the first "
            "save, the exit status is 1."},
        .positionals = {{.name = "RUN",
            .kind = ValueKind::Folder,
            .help
            = "Run folder, one of its tags, a framework's output folder, or a folder that holds runs."}},
        .options
        = {{.name = "--newest-complete",
               .help
               = "Print only the folder that a restart can use; without one the exit status is 1. Newer "
                 "tags that cannot be used are reported on standard error, older ones are not read."},
            jobsOption()},
        .commonOptions = outputOptions(),
        .examples = {{"shardscope tags runs/llama", "What is there?"},
            {"shardscope tags runs", "Which runs are there, and how far did they get?"},
            {"shardscope tags runs/llama --newest-complete", "In a launch script, after a crash:"}},
        .run = runTags,
        .reads = true,
    };
}

} // namespace shardscope::cli
