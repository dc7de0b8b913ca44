// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/detached_job.h"

#include "app/cli/jobs/progress.h"
#include "core/base/shell_quote.h"
#include "core/jobs/job_process.h"
#include "core/report/jobs/jobs_report.h"

#include <filesystem>
#include <utility>

#include <poll.h>

namespace shardscope::cli {

namespace {

constexpr int kLookMs = 200;
constexpr size_t kLongestLine = size_t{64} << 10; ///< that is waited for

/// Gives all that was added to a file of the job; of one that grows, no line before it is whole.
template <class Take>
Status takeNew(const jobs::JobStore& store, const std::string& id, std::string_view file, bool grows,
    uint64_t& taken, const Take& take)
{
    for (;;) {
        SHARDSCOPE_TRY(std::string bytes, store.bytesOf(id, file, taken));
        const size_t end = bytes.rfind('\n') + 1; // 0 for none
        if (end > 0 || (grows && bytes.size() < kLongestLine))
            bytes.resize(end);
        if (bytes.empty())
            return {};
        taken += bytes.size();
        take(bytes);
    }
}

/// The view of one job.
class JobView
{
public:
    JobView(Session& session, const jobs::JobStore& store, const std::string& id)
        : m_output(session.output())
        , m_store(store)
        , m_id(id)
        , m_progress(progressSink(m_output, session.arguments()))
    {
    }

    Status showNew(const jobs::JobEntry& job)
    {
        if (std::exchange(m_started, job.record.started) != job.record.started) { // its files are new
            m_messages = 0;
            m_answer = 0;
            m_last.clear();
        }
        const bool grows = job.state == jobs::JobState::Running;
        // JSON must be whole to be of use.
        if (!job.record.json || job.state == jobs::JobState::Ended || job.end) {
            SHARDSCOPE_CHECK(takeNew(m_store, m_id, jobs::job_file::kAnswer, grows, m_answer,
                [&](const std::string& text) { m_output.answer()(text); }));
        }
        SHARDSCOPE_CHECK(takeNew(m_store, m_id, jobs::job_file::kMessages, grows, m_messages,
            [&](const std::string& text) { m_output.message(text.ends_with('\n') ? text : text + '\n'); }));
        if (!grows || job.progress == m_last)
            return {};
        m_last = job.progress;
        if (const auto progress = parseProgress(m_last); progress && m_progress)
            m_progress(*progress);
        return {};
    }

private:
    Output& m_output;
    const jobs::JobStore& m_store;
    const std::string& m_id;
    JobContext::ProgressSink m_progress;
    uint64_t m_started = 0; ///< the start whose files are shown
    uint64_t m_messages = 0;
    uint64_t m_answer = 0;
    std::string m_last;
};

} // namespace

std::string jobsCommand(const std::string& host, const std::string& option, const std::string& id)
{
    return "shardscope jobs " + (host.empty() ? "" : shellQuoted(host + ":") + " ") + option + " " + id;
}

Status requireJob(const Parsed& parsed)
{
    const Command& command = *parsed.command;
    if (!command.isJob)
        return fail(ErrorCode::Usage, "`" + command.name + "` does not run as a job of its own");
    for (const auto* options : {&command.options, &command.commonOptions}) {
        for (const Option& option : *options) {
            const bool isFile = option.kind == ValueKind::File || option.kind == ValueKind::NewFile;
            if (parsed.arguments.has(option.name) && (isFile || option.name == "--mpi"))
                return fail(ErrorCode::Usage, "a job takes no " + option.name, {}, Hint::omit(option.name));
        }
    }
    return {};
}

Result<jobs::JobEntry> startDetached(const Parsed& parsed, const Output& output, io::FileSystem& files)
{
    SHARDSCOPE_CHECK(requireJob(parsed));
    const jobs::JobStore store(files);
    std::string target = parsed.arguments.positional("DST");
    if (!target.empty())
        target = std::filesystem::absolute(target).lexically_normal().string();
    SHARDSCOPE_TRY(const jobs::JobRecord record,
        store.add({.words = parsed.words, .json = output.json(), .host = output.host(), .target = target}));
    SHARDSCOPE_CHECK(jobs::startJob(store, record.id));
    return store.entry(record.id);
}

Result<int> attachTo(Session& session, const jobs::JobStore& store, const std::string& id)
{
    Output& output = session.output();
    JobView view(session, store, id);
    for (;;) {
        // Before its files: what it wrote before it ended is read.
        SHARDSCOPE_TRY(const jobs::JobEntry job, store.entry(id));
        if (output.json() && !job.record.json)
            return fail(ErrorCode::Usage, "the answer of this job is text", {}, Hint::omit("--json"));
        if (job.state == jobs::JobState::Elsewhere)
            return forward(jobs::elsewhere(ErrorCode::Usage, job.record));
        SHARDSCOPE_CHECK(view.showNew(job));
        if (job.end)
            return static_cast<int>(job.end->exit);
        if (job.state != jobs::JobState::Running)
            return fail(ErrorCode::Cancelled, "the process of the job has ended without an answer", {},
                {"`" + jobsCommand(output.host(), "--resume", id) + "` continues it", {{Retry::Shown}}});
        if (session.job().cancelled())
            return fail(ErrorCode::Cancelled, "the job continues", {},
                {"`" + jobsCommand(output.host(), "--attach", id) + "` shows it again", {{Retry::Shown}}});
        (void)::poll(nullptr, 0, kLookMs);
    }
}

} // namespace shardscope::cli
