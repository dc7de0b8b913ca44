// SPDX-License-Identifier: Apache-2.0
#include "ui/session/far_jobs.h"

#include "core/far/far_command.h"
#include "core/far/far_path.h"
#include "ui/text/text.h"

#include <QDateTime>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

using Connection = far::FarCondition::State;

constexpr auto kPause = std::chrono::seconds(3);
constexpr auto kSilent = std::chrono::seconds(7); ///< the other end says every 5 s that it is there
constexpr size_t kMostShown = 20; ///< of a host
constexpr size_t kMostBytes = size_t{16} << 20U; ///< of an answer about jobs

using Answer = Result<std::vector<DetachedJob>>;

/// For a worker.
Answer asked(far::FarCommand command)
{
    command.limit = kMostBytes;
    SHARDSCOPE_TRY(const std::string json, far::answerOf(command));
    return parseJobs(json);
}

/// The job that was started. For a worker.
Result<DetachedJob> startedBy(const far::FarCommand& command)
{
    SHARDSCOPE_TRY(far::FarCommand homeless, far::withoutHome(command));
    homeless.limit = kMostBytes;
    SHARDSCOPE_TRY(const std::string json, far::answerOf(homeless));
    return parseJob(json);
}

/// In the time of this machine.
QString timeText(const std::string& utc)
{
    const QDateTime time = QDateTime::fromString(QString::fromStdString(utc), Qt::ISODate).toLocalTime();
    if (!time.isValid())
        return toText(utc);
    const bool isToday = time.date() == QDate::currentDate();
    return time.toString(isToday ? u"HH:mm:ss"_s : u"yyyy-MM-dd HH:mm"_s);
}

/// "Reshard on node7", of "shardscope reshard /a /b".
QString titleOf(const std::string& host, const std::string& command)
{
    const QString words = toText(command);
    const QString verb = words.section(u' ', 1, 1);
    return FarJob::tr("%1 on %2").arg(verb.left(1).toUpper() % verb.mid(1), toText(host));
}

Error errorOf(const std::string& host, const DetachedJob& said)
{
    const std::string exit = std::to_string(said.exit.value_or(0));
    Error error{ErrorCode::WriteFailed, "the job has ended with exit status " + exit, {}, {}};
    error.hint = {"`shardscope jobs " + host + ": --attach " + said.id + "` shows what it said"};
    return error;
}

} // namespace

FarJob::FarJob(std::string host, const DetachedJob& said)
    : Job(titleOf(host, said.command), toText(said.command), {})
    , m_host(std::move(host))
    , m_id(said.id)
{
    take(said);
}

void FarJob::take(const DetachedJob& said)
{
    if (m_asker.isRunning()) // what was asked for is newer
        return;
    Known now;
    JobFacts facts;
    facts.host = toText(m_host);
    const bool isDone = said.state == jobs::JobState::Ended && said.exit == 0U;
    facts.when = said.ended.empty()
        ? tr("started %1").arg(timeText(said.started))
        : tr("started %1, ended %2").arg(timeText(said.started), timeText(said.ended));
    switch (said.state) {
    case jobs::JobState::Running:
        now.state = JobState::Running;
        now.progress = said.progress.value_or(Progress());
        break;
    case jobs::JobState::Interrupted:
        now.state = JobState::Cancelled;
        break;
    case jobs::JobState::Elsewhere:
        now.state = JobState::Cancelled;
        facts.unknown = tr("It was started on %1, which has the same home folder. Only that machine knows "
                           "whether it runs.")
                            .arg(toText(said.machine));
        break;
    case jobs::JobState::Ended:
        now.state = isDone ? JobState::Succeeded : JobState::Failed;
        break;
    }
    if (isDone) {
        now.outcome.summary = tr("Done.");
        if (said.target.starts_with('/')) {
            now.outcome.output = far::farPath(m_host, said.target);
            now.outcome.place = now.outcome.output;
        }
    } else if (now.state == JobState::Failed) {
        now.error = errorOf(m_host, said);
    }
    setFacts(std::move(facts));
    setKnown(std::move(now));
}

void FarJob::setUnknown(const QString& why)
{
    const bool isOver = state() == JobState::Succeeded || state() == JobState::Failed;
    if (isOver || facts().unknown == why)
        return;
    JobFacts now = facts();
    now.unknown = why;
    setFacts(std::move(now));
    Q_EMIT stateChanged();
}

void FarJob::cancel()
{
    if (state() != JobState::Running)
        return;
    setKnown({JobState::Cancelling, progress(), {}, {}});
    ask("--stop=");
}

void FarJob::resume()
{
    ask("--resume=");
}

void FarJob::forget()
{
    ask("--forget=");
}

void FarJob::ask(const char* option)
{
    if (m_asker.isRunning())
        return;
    const bool isForgotten = option == std::string_view("--forget=");
    m_asker.run<Answer>(
        [command = far::FarCommand{.host = m_host, .words = {"jobs", option + m_id}, .changesJobs = true}](
            const std::stop_token&, const std::function<void(Answer)>& deliver) { deliver(asked(command)); },
        [this, isForgotten](const Answer& answer) {
            m_asker.cancel(); // it has ended
            if (answer && isForgotten)
                Q_EMIT forgotten();
            else if (answer && answer->size() == 1 && answer->front().id == m_id)
                take(answer->front());
            if (!answer)
                Q_EMIT failed(answer.error());
        });
}

FarJobs::FarJobs(QObject* parent)
    : QObject(parent)
{
    m_timer.setInterval(kPause);
    connect(&m_timer, &QTimer::timeout, this, &FarJobs::look);
}

void FarJobs::watch(const std::vector<io::Path>& paths)
{
    const size_t before = m_hosts.size();
    for (const io::Path& path : paths) {
        if (const auto there = far::farPathOf(path))
            m_hosts.try_emplace(there->host, WorkLength::Long);
    }
    if (m_hosts.size() > before)
        m_timer.start();
    if (!m_hosts.empty())
        look();
}

void FarJobs::setLookedAt(bool isLookedAt)
{
    m_isLookedAt = isLookedAt;
    if (isLookedAt)
        look();
}

void FarJobs::look()
{
    const bool isWanted
        = m_isLookedAt || std::ranges::any_of(m_jobs, [](const FarJob* job) { return job->isRunning(); });
    for (auto& [host, asker] : m_hosts) {
        const far::FarCondition now = far::farHost(host).condition();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.silent);
        if (now.state == Connection::Lost)
            sayUnknown(host, tr("%1: %2.").arg(toText(host), sentenceText(now.why)));
        else if (now.state == Connection::Connected && now.silent >= kSilent)
            sayUnknown(
                host, tr("Nothing has arrived from %1 for %2 s.").arg(toText(host)).arg(seconds.count()));
        else if (now.state == Connection::Connected && isWanted && !asker.isRunning())
            askHost(host, asker);
    }
}

void FarJobs::askHost(const std::string& host, LatestOnly& asker)
{
    asker.run<Answer>(
        [host](const std::stop_token& token, const std::function<void(Answer)>& deliver) {
            const JobContext job(token);
            deliver(asked({.host = host, .words = {"jobs"}, .job = &job}));
        },
        [this, host](const Answer& answer) { receive(host, answer); });
}

void FarJobs::sayUnknown(const std::string& host, const QString& why)
{
    for (FarJob* job : m_jobs) {
        if (job->host() == host)
            job->setUnknown(why);
    }
}

void FarJobs::receive(const std::string& host, const Answer& answer)
{
    if (!answer)
        return sayUnknown(host, errorText(answer.error()).replace(u'\n', QChar::LineSeparator));
    const size_t shown = std::min(answer->size(), kMostShown);
    std::set<std::string> known;
    for (size_t i = shown; i-- > 0;) { // the newest comes last
        const DetachedJob& said = (*answer)[i];
        known.insert(said.id);
        if (FarJob* job = jobOf(host, said.id))
            job->take(said);
        else
            add(host, said);
    }
    for (FarJob* job : QList<FarJob*>(m_jobs)) {
        if (job->host() == host && !known.contains(job->id()))
            remove(job);
    }
}

FarJob* FarJobs::jobOf(const std::string& host, const std::string& id) const
{
    const auto found = std::ranges::find_if(
        m_jobs, [&](const FarJob* job) { return job->host() == host && job->id() == id; });
    return found == m_jobs.end() ? nullptr : *found;
}

void FarJobs::add(const std::string& host, const DetachedJob& said)
{
    auto* job = new FarJob(host, said);
    job->setParent(this);
    m_jobs.append(job);
    connect(job, &FarJob::failed, this, &FarJobs::failed);
    connect(job, &FarJob::forgotten, this, [this, job] { remove(job); });
    Q_EMIT added(job);
}

void FarJobs::remove(FarJob* job)
{
    m_jobs.removeOne(job);
    Q_EMIT removed(job);
    job->deleteLater();
}

void FarJobs::start(const std::string& host, std::vector<std::string> words)
{
    m_starter.run<Result<DetachedJob>>(
        [command
            = far::FarCommand{.host = host, .words = std::move(words), .changesJobs = true, .asText = true}](
            const std::stop_token&, const std::function<void(Result<DetachedJob>)>& deliver) {
            deliver(startedBy(command));
        },
        [this, host](const Result<DetachedJob>& answer) {
            m_hosts.try_emplace(host, WorkLength::Long);
            if (!m_timer.isActive())
                m_timer.start();
            if (!answer) {
                Error error = answer.error();
                if (far::farHost(host).condition().state == Connection::Lost)
                    error.message += "; if the job has started, its card appears when the host answers again";
                Q_EMIT failed(error);
                return look();
            }
            if (FarJob* job = jobOf(host, answer->id)) // the same command was interrupted
                job->take(*answer);
            else
                add(host, *answer);
            Q_EMIT started();
        });
}

} // namespace shardscope::ui
