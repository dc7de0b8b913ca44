// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/report/jobs/jobs_report.h"
#include "ui/jobs/job.h"
#include "ui/jobs/latest_only.h"

#include <QList>
#include <QTimer>

#include <map>
#include <string>
#include <vector>

namespace shardscope::ui {

/// A job on another host, as that host said last. It runs there by itself: to destroy this, or to close the
/// window, changes nothing.
class FarJob : public Job
{
    Q_OBJECT
public:
    FarJob(std::string host, const DetachedJob& said);

    [[nodiscard]] const std::string& host() const { return m_host; }
    [[nodiscard]] const std::string& id() const { return m_id; }
    /// What the host says now.
    void take(const DetachedJob& said);
    /// The host does not answer: what it said last may have changed.
    void setUnknown(const QString& why);

    /// Asks the host to stop it.
    void cancel() override;
    void resume();
    /// Removes its record there.
    void forget();

Q_SIGNALS:
    void forgotten();
    /// What was asked for could not be done.
    void failed(const shardscope::Error& error);

private:
    void ask(const char* option);

    std::string m_host;
    std::string m_id;
    LatestOnly m_asker{WorkLength::Long};
};

/// The jobs on the hosts of a window, newest last. Each connected host is asked every few seconds, by one
/// question on another thread, while the jobs are looked at or one of them runs; no connection is made for
/// it. Lives on the GUI thread.
class FarJobs : public QObject
{
    Q_OBJECT
public:
    explicit FarJobs(QObject* parent = nullptr);

    /// The hosts of these paths, too. Paths of this machine are left out.
    void watch(const std::vector<io::Path>& paths);
    /// Whether somebody looks at the jobs.
    void setLookedAt(bool isLookedAt);
    /// Starts a command there as a job of its own: words as `shardscope` takes them there. Those that begin
    /// with "~/" are paths in the home folder.
    void start(const std::string& host, std::vector<std::string> words);
    [[nodiscard]] const QList<FarJob*>& jobs() const { return m_jobs; }

Q_SIGNALS:
    void added(shardscope::ui::FarJob* job);
    void removed(shardscope::ui::FarJob* job);
    void started();
    void failed(const shardscope::Error& error);

private:
    using Answer = Result<std::vector<DetachedJob>>;

    void look();
    void askHost(const std::string& host, LatestOnly& asker);
    void receive(const std::string& host, const Answer& answer);
    void sayUnknown(const std::string& host, const QString& why);
    [[nodiscard]] FarJob* jobOf(const std::string& host, const std::string& id) const;
    void add(const std::string& host, const DetachedJob& said);
    void remove(FarJob* job);

    std::map<std::string, LatestOnly> m_hosts; ///< with the question that is under way
    QList<FarJob*> m_jobs;
    QTimer m_timer;
    LatestOnly m_starter{WorkLength::Long};
    bool m_isLookedAt = false;
};

} // namespace shardscope::ui
