// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/compute_device.h"
#include "app/cli/jobs/parameter_words.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/base/nearest_word.h"
#include "core/compare/health/health_history.h"
#include "core/engine/verify/run_tags.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/report/answers/health_report.h"
#include "core/report/answers/stats_report.h"

#include <algorithm>
#include <functional>

namespace shardscope::cli {

using namespace std::string_literals;

namespace {

constexpr uint64_t kDefaultBars = 32;
constexpr uint64_t kMaxBars = 1000;

/// NAME#STATE selects one state. NAME alone, as `params` lists it, selects all states of the parameter.
Status addAsked(std::vector<TensorAsked>& out, const Checkpoint& checkpoint, const std::string& word)
{
    std::optional<ParamId> param = checkpoint.findParam(word);
    std::string state;
    if (!param) {
        SHARDSCOPE_TRY(const Address address, addressAsked(checkpoint, word));
        const auto* named = std::get_if<ParamAddress>(&address);
        if (named == nullptr || named->range)
            return fail(ErrorCode::Usage, "statistics need a whole tensor, and `" + word + "` is not one", {},
                "use NAME or NAME#STATE");
        SHARDSCOPE_TRY(param, paramAsked(checkpoint, named->name));
        if (word.find('#') != std::string::npos)
            state = named->state;
    }
    if (!state.empty()) {
        out.push_back({*param, state});
        return {};
    }
    for (std::string& each : statesOf(checkpoint, *param))
        out.push_back({*param, std::move(each)});
    return {};
}

Result<std::vector<TensorAsked>> tensorsAsked(const Arguments& arguments, const Checkpoint& checkpoint)
{
    std::vector<TensorAsked> tensors;
    const std::vector<std::string> words = arguments.allOf("PARAM");
    for (const std::string& word : words)
        SHARDSCOPE_CHECK(addAsked(tensors, checkpoint, word));
    if (words.empty())
        tensors = allTensors(checkpoint);
    const std::vector<std::string> states = arguments.all("--state");
    if (states.empty())
        return tensors;
    const std::vector<std::string> known = checkpoint.stateNames();
    for (const std::string& state : states) {
        if (std::find(known.begin(), known.end(), state) == known.end())
            return fail(ErrorCode::Usage, "the checkpoint has no state `" + state + "`",
                checkpoint.tagFolder.string(),
                nearestHint(state, known, Hint::command("inspect") + " lists its states"));
    }
    std::erase_if(tensors, [&](const TensorAsked& tensor) {
        return std::find(states.begin(), states.end(), tensor.state) == states.end();
    });
    return tensors;
}

/// Starts the answer at the first tensor that can be read at least in part. Until then the answer can still
/// be an error object alone.
class Answer
{
public:
    Answer(Session& session, const OpenedCheckpoint& opened, const ComputeChoice& compute,
        const StatsReportOptions& options)
        : m_session(session)
        , m_context(session.context(opened, &compute))
        , m_options(options)
    {
    }

    void add(const TensorStatistics& tensor)
    {
        if (!m_report && tensor.found.elements == 0 && tensor.missing > 0) {
            m_waiting.push_back(tensor);
            return;
        }
        begin();
        m_report->add(tensor);
    }

    Status end()
    {
        if (!m_report && !m_waiting.empty() && m_waiting.front().unreadable)
            return forward(*m_waiting.front().unreadable);
        begin();
        m_report->end();
        return {};
    }

private:
    void begin()
    {
        if (m_report)
            return;
        Output& output = m_session.output();
        m_report = output.json() ? statsJson(output.answer(), m_context, m_options)
                                 : statsText(output.answer(), output.answerStyle(), m_context, m_options);
        for (const TensorStatistics& tensor : m_waiting)
            m_report->add(tensor);
        m_waiting.clear();
    }

    Session& m_session;
    AnswerContext m_context;
    StatsReportOptions m_options;
    std::vector<TensorStatistics> m_waiting;
    std::unique_ptr<StatsReport> m_report;
};

Status checkHealthOptions(const Arguments& arguments)
{
    for (const char* option : {"--state", "--bars"}) {
        if (arguments.has(option))
            return fail(ErrorCode::Usage, "--health takes no "s + option, {}, Hint::omit(option));
    }
    if (!arguments.allOf("PARAM").empty())
        return fail(ErrorCode::Usage, "--health takes no PARAM", {}, "use --params for all parameters");
    return {};
}

/// --health: without --history, the tag alone.
Result<int> runHealth(Session& session)
{
    const Arguments& arguments = session.arguments();
    SHARDSCOPE_CHECK(checkHealthOptions(arguments));
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(arguments));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openModel());
    const Checkpoint& checkpoint = *opened.checkpoint;
    const bool exact = arguments.has("--exact");
    SHARDSCOPE_TRY(const ComputeChoice compute,
        computeAsked(session, ComputeTask::Statistics, exact ? bytesOf(checkpoint) : 0, jobs));
    Workers workers(jobs, *compute.backend);
    workers.shared = session.shared();
    const HealthCache cache(session.files(), session.mayWrite() ? userHealthCache() : io::Path());
    const AnswerContext context = session.context(opened, &compute);
    HealthAnswer answer{context, {}, {}, {}, {}};
    answer.hasParams = arguments.has("--params");
    answer.hasHistory = arguments.has("--history");
    const auto keep = [&](ParamId /*param*/, const HealthRow& row) -> Status {
        answer.params.push_back(row);
        return {};
    };
    SHARDSCOPE_TRY(answer.tag,
        readHealth(session.files(), checkpoint, exact, cache, workers, session.job(),
            answer.hasParams ? HealthTake(keep) : HealthTake()));
    if (answer.hasHistory) {
        SHARDSCOPE_TRY(const RunTags run, tagsOf(session.files(), session.openedPath(), session.job()));
        SHARDSCOPE_TRY(answer.history,
            readHistory(session.files(), {run.base, run.names, session.openOptions(), exact, &answer.tag},
                cache, workers, session.job()));
    }
    answer.alarms = findAlarms(answer.hasHistory ? answer.history : std::vector{answer.tag});
    Output& output = session.output();
    if (output.json())
        writeHealthJson(output.answer(), answer);
    else
        writeHealthText(output.answer(), output.answerStyle(), answer);
    return kExitDone;
}

struct AskedTensors {
    OpenedCheckpoint opened;
    std::vector<TensorAsked> tensors;
    ComputeChoice compute;
};

Result<AskedTensors> openAsked(Session& session)
{
    const Arguments& arguments = session.arguments();
    AskedTensors out;
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(arguments));
    SHARDSCOPE_TRY(out.opened, session.openModel());
    const Checkpoint& checkpoint = *out.opened.checkpoint;
    SHARDSCOPE_TRY(out.tensors, tensorsAsked(arguments, checkpoint));
    SHARDSCOPE_TRY(out.compute,
        computeAsked(
            session, ComputeTask::Statistics, arguments.has("--exact") ? bytesOf(checkpoint) : 0, jobs));
    return out;
}

Status computeAll(Session& session, const AskedTensors& asked,
    const std::function<void(const TensorStatistics& tensor)>& take)
{
    SHARDSCOPE_TRY(const unsigned jobs, jobsAsked(session.arguments()));
    Workers workers(jobs, *asked.compute.backend);
    workers.shared = session.shared();
    return computeStatistics(session.files(),
        {*asked.opened.checkpoint, asked.tensors, session.arguments().has("--exact")}, workers, session.job(),
        [&](const TensorStatistics& tensor) -> Status {
            take(tensor);
            return {};
        });
}

Result<int> runStats(Session& session)
{
    const Arguments& arguments = session.arguments();
    if (arguments.has("--health"))
        return runHealth(session);
    for (const char* option : {"--history", "--params"}) {
        if (arguments.has(option))
            return fail(ErrorCode::Usage, option + " needs --health"s, {}, Hint::add("--health"));
    }
    const uint64_t bars = arguments.count("--bars").value_or(kDefaultBars);
    if (bars > kMaxBars)
        return fail(ErrorCode::Usage, "--bars is at most " + std::to_string(kMaxBars));
    SHARDSCOPE_TRY(const AskedTensors asked, openAsked(session));
    Answer answer(session, asked.opened, asked.compute,
        {.bars = static_cast<uint32_t>(bars), .drawn = !arguments.allOf("PARAM").empty()});
    SHARDSCOPE_CHECK(computeAll(session, asked, [&](const TensorStatistics& tensor) { answer.add(tensor); }));
    SHARDSCOPE_CHECK(answer.end());
    return kExitDone;
}

std::vector<Option> healthOptions()
{
    return {{.name = "--health",
                .help = "Show the health of the training state by layer: norms of weights and moments, the "
                        "last update by the weights, zeros, NaN and infinite values, and what looks wrong."},
        {.name = "--history",
            .help = "With --health: also of all tags of the run, which are compared with each other."},
        {.name = "--params", .help = "With --health: also by parameter."}};
}

} // namespace

Result<std::string> statisticsAsked(Session& session)
{
    SHARDSCOPE_TRY(const AskedTensors asked, openAsked(session));
    std::vector<TensorStatistics> found;
    SHARDSCOPE_CHECK(
        computeAll(session, asked, [&](const TensorStatistics& tensor) { found.push_back(tensor); }));
    return wireText(*asked.opened.checkpoint, found);
}

Command statsCommand()
{
    return {
        .name = "stats",
        .summary = "show statistics and histograms of parameters and states",
        .description
        = {"Min, max, mean, standard deviation, norm, zeros, NaN, infinities and a histogram of every "
           "tensor, or of the named ones, whichever ranks and files hold them. Sums include finite values "
           "only.",
            "With --health the answer is by layer, and names what looks wrong: values that are not finite, a "
            "layer unlike its neighbours, a spike of the learning rate, moments that were reset, weights "
            "that "
            "moved further than updates explain, and ranks whose state is that of another tag. With "
            "--history "
            "all tags of the run are read and compared; what was read is kept in the user's cache.",
            "For a tensor with more than 65,536 elements, a sample is read: 64 ranges of 1,024 elements. The "
            "answer marks it as a sample. --exact reads everything, in one pass."},
        .positionals = {pathArgument(),
            {.name = "PARAM",
                .kind = ValueKind::Text,
                .help = "NAME (all its states) or NAME#STATE; the histograms are drawn. Default: all "
                        "tensors, without drawing.",
                .required = false,
                .repeats = true}},
        .options
        = joined({{.name = "--exact",
                      .help = "Read every element. Default: a sample of 64 ranges of 1,024 elements for "
                              "a tensor with more than 65,536. The answer marks sampled tensors."},
                     {.name = "--state",
                         .kind = ValueKind::Text,
                         .valueName = "STATE",
                         .help = "Only this state, such as fp32 or exp_avg. Can be repeated.",
                         .repeats = true},
                     {.name = "--bars",
                         .kind = ValueKind::Count,
                         .valueName = "N",
                         .help = "Max number of bars in a histogram; 0 means no histogram. Default: "
                                 "32."},
                     mpiOption()},
            joined(healthOptions(), joined(computeOptions(), checkpointOptions()))),
        .commonOptions = outputOptions(),
        .examples = {{"shardscope stats runs/llama", "All tensors, large ones by a sample:"},
            {"shardscope stats runs/llama model.norm.weight --exact", "One parameter and its moments:"},
            {"shardscope stats runs/llama --health --history",
                "Which layer, and since which tag, after a jump of the loss:"},
            {"shardscope stats runs/llama --state exp_avg_sq --json --bars 0",
                "Second moments, for a script:"}},
        .run = runStats,
        .values = Command::Values::Needed,
        .reads = true,
    };
}

} // namespace shardscope::cli
