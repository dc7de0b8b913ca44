// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/far_job.h"

#include "app/cli/jobs/detached_job.h"
#include "app/cli/jobs/far_answer.h"
#include "app/cli/jobs/far_paths.h"
#include "app/cli/jobs/signals.h"
#include "core/base/parallel.h"
#include "core/base/shell_quote.h"
#include "core/far/far_command.h"
#include "core/report/jobs/jobs_report.h"

#include <atomic>
#include <csignal>

#include <poll.h>

namespace shardscope::cli {

namespace {

constexpr int kLookMs = 50;

/// Asks for words that change jobs. The JSON of its answer.
Result<std::string> changeJobs(
    const std::string& host, std::vector<std::string> words, bool asText, const JobContext* job)
{
    return far::answerOf({.host = host,
        .words = std::move(words),
        .changesJobs = true,
        .asText = asText,
        .job = job,
        .outlivesStop = true});
}

/// The view of one job on another host.
class FarJobView
{
public:
    FarJobView(std::string host, std::string id, Output& output, const Arguments& arguments)
        : m_host(std::move(host))
        , m_id(std::move(id))
        , m_isJson(output.json())
        , m_shown(output, arguments, false)
    {
    }

    /// Until the job ends, or the view. A stop by Ctrl+C is passed on to the job.
    Result<int> show(const JobContext& job)
    {
        std::optional<Result<far::FarAnswer>> answer;
        std::atomic<bool> isDone = false;
        std::stop_source left;
        Thread asking = Thread::start([&] {
            const Status asked = withinMemory([&]() -> Status {
                answer.emplace(ask(left.get_token()));
                return {};
            });
            if (!asked)
                answer.emplace(forward(asked.error()));
            isDone = true;
        });
        if (!asking.isStarted())
            return forward(ended(noThread()));
        bool isPassedOn = false;
        while (!isDone) {
            if (job.cancelled() && !std::exchange(isPassedOn, true)) {
                if (stopSignal() == SIGINT)
                    (void)changeJobs(
                        m_host, {"jobs", "--stop=" + m_id}, false, nullptr); // else the view ends, too
                else
                    left.request_stop();
            }
            (void)::poll(nullptr, 0, kLookMs);
        }
        asking.join();
        if (*answer)
            SHARDSCOPE_CHECK(m_shown.finish());
        return *answer ? Result<int>(*(*answer)->last.exit) : forward(ended((*answer).error()));
    }

private:
    Result<far::FarAnswer> ask(std::stop_token left)
    {
        std::vector<std::string> words{"jobs", "--attach=" + m_id};
        if (m_isJson)
            words.emplace_back("--json");
        const JobContext viewed(std::move(left));
        far::FarQuestion question{
            .request = {.ask = std::string(serve::ask::kAnswer), .text = true, .host = m_host},
            .payload = serve::wordsPayload(words),
            .job = &viewed,
            .outlivesStop = true};
        m_shown.take(question);
        return far::farHost(m_host).ask(question);
    }

    [[nodiscard]] Error ended(Error error) const
    {
        if (error.code == ErrorCode::Cancelled)
            error.message = "the view has ended";
        error.message += "; the job is not stopped by it";
        error.hint = {"`" + jobsCommand(m_host, "--attach", m_id) + "` shows it again", {{Retry::Shown}}};
        return error;
    }

    std::string m_host;
    std::string m_id;
    bool m_isJson;
    FarAnswerShown m_shown;
};

/// Asks for the job. Without an answer it may run all the same, and the error says where to look.
Result<std::string> start(const FarWords& there, bool asText, const JobContext& job)
{
    const far::FarHost& host = far::farHost(there.host);
    const uint64_t before = host.traffic().questions;
    auto started = changeJobs(there.host, there.words, asText, &job);
    const bool isAnswered = started
        || (started.error().code != ErrorCode::Cancelled
            && host.condition().state != far::FarCondition::State::Lost);
    if (isAnswered || host.traffic().questions == before) // or it was not asked for
        return started;
    Error error = std::move(started).error();
    error.message += "; the job may have started";
    error.hint
        = {"`shardscope jobs " + shellQuoted(there.host + ":") + "` shows whether it runs", {{Retry::Shown}}};
    return forward(std::move(error));
}

Result<int> runThere(const Parsed& parsed, const FarWords& there, Output& output, JobContext& job)
{
    SHARDSCOPE_TRY(const std::string started, start(there, !output.json(), job));
    SHARDSCOPE_TRY(const DetachedJob made, parseJob(started));
    const std::string& id = made.id;
    const bool isOnlyAnswer = !parsed.command->resumes || parsed.arguments.has("--dry-run");
    if (!output.quiet() && !isOnlyAnswer)
        output.message("this runs on " + there.host + " as job " + id + "\n");
    FarJobView view(there.host, id, output, parsed.arguments);
    SHARDSCOPE_TRY(const int code, view.show(job));
    if (isOnlyAnswer) // nothing is left to be seen or continued
        (void)changeJobs(there.host, {"jobs", "--forget=" + id}, false, nullptr);
    return code;
}

Result<int> jobsThere(const Parsed& parsed, const std::string& host, Output& output, JobContext& job)
{
    std::vector<std::string> words{"jobs"};
    bool isChange = false;
    for (const char* option : {"--attach", "--stop", "--resume", "--forget"}) {
        if (!parsed.arguments.has(option))
            continue;
        words.push_back(std::string(option) + "=" + parsed.arguments.text(option));
        isChange = isChange || option != std::string_view("--attach");
    }
    if (output.json())
        words.emplace_back("--json");
    FarAnswerShown shown(output, parsed.arguments, false);
    far::FarQuestion question{.request
        = {.ask = std::string(isChange ? serve::ask::kJob : serve::ask::kAnswer), .text = true, .host = host},
        .payload = serve::wordsPayload(words),
        .job = &job};
    shown.take(question);
    SHARDSCOPE_TRY(const far::FarAnswer answer, far::farHost(host).ask(question));
    SHARDSCOPE_CHECK(shown.finish());
    return *answer.last.exit;
}

} // namespace

Result<std::optional<int>> runJobThere(const Parsed& parsed, Output& output, JobContext& job)
{
    std::optional<Result<int>> code;
    if (parsed.command->name == "jobs") {
        SHARDSCOPE_TRY(const std::string host, hostAsked(parsed.arguments.positional("HOST")));
        if (!host.empty())
            code = jobsThere(parsed, host, output, job);
    } else if (parsed.command->isJob && !hostOfTarget(parsed).empty()) {
        if (const auto there = wordsThere(parsed))
            code = runThere(parsed, *there, output, job);
    }
    if (!code)
        return std::nullopt;
    SHARDSCOPE_TRY(const int exit, *code);
    return std::optional(exit);
}

} // namespace shardscope::cli
