// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/write/clean.h"
#include "core/plan/saved/saved_plan.h"
#include "ui/session/check_run.h"

#include <QList>
#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace shardscope::ui {

/// The saved form of a plan. `destination`: what the command line calls DST.
SavedPlan savedPlanOf(const WritePlan& plan, const PlacedCheckpoint& source, const io::Path& destination);

/// Writes its text to a file. Returns why it could not be written; empty if it was.
QString savePlanText(const SaveTarget& target, const SavedPlan& plan);

/// A job that began and is not known to have ended well: its plan is kept in a file, so that it can be
/// continued after the window was closed or the machine stopped.
struct StoredJob {
    QString record; ///< its name among the stored jobs
    QString title;
    QString target; ///< as display text
    std::vector<io::Path> workFolders; ///< where what it has finished can be
    bool verify = true;
    bool force = false;
};

/// The stored jobs in one folder: RECORD.plan.json, which `shardscope run` executes, and RECORD.job.json.
/// Several windows and processes may use one folder. Functions read or write small files; any thread.
class StoredJobs
{
public:
    explicit StoredJobs(QString folder)
        : m_folder(std::move(folder))
    {
    }

    /// The same plan into the same folder has the same record.
    static QString recordOf(const WritePlan& plan, const io::Path& destination);
    /// The possible work folders of a plan; a job uses one of them (core/engine/write/run_plan.cpp).
    static std::vector<io::Path> workFoldersOf(const WritePlan& plan, const io::Path& destination);
    /// Whether a plan's work folder is there: whether its job was interrupted, or runs.
    enum class Begun : uint8_t { No, Interrupted, Running };
    static Begun begun(io::FileSystem& files, const WritePlan& plan, const io::Path& destination);
    /// The first that exists; empty if none does.
    static io::Path existing(io::FileSystem& files, const std::vector<io::Path>& workFolders);
    [[nodiscard]] QString planFile(const QString& record) const;
    [[nodiscard]] QString logFile(const QString& record) const;

    /// Options of `shardscope run` for the plan's file.
    [[nodiscard]] QStringList runOptions(const QString& record) const;

    /// Returns why it could not be stored; empty if it was.
    [[nodiscard]] QString store(const StoredJob& job, const SavedPlan& plan) const;
    void remove(const QString& record) const;
    /// Removes what a job has finished, and then its record (empty: it has none).
    [[nodiscard]] Result<CleanEntry::State> discard(
        io::FileSystem& files, const std::vector<io::Path>& workFolders, const QString& record) const;
    /// Those with a work folder that no process uses. Removes the records of jobs without one, which have
    /// ended or never began to write.
    [[nodiscard]] QList<StoredJob> unfinished(io::FileSystem& files) const;

private:
    [[nodiscard]] std::optional<StoredJob> read(const QString& record) const;

    QString m_folder;
};

} // namespace shardscope::ui
