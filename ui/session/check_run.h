// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/doctor/examine.h"
#include "ui/jobs/latest_only.h"
#include "ui/jobs/save_file.h"

#include <QObject>
#include <QTime>
#include <QTimer>

#include <memory>
#include <optional>

namespace shardscope::ui {

/// The checkpoint to check, as arguments of openCheckpoint().
struct CheckPlace {
    io::Path path;
    OpenOptions open;
    io::Path tagFolder = {}; ///< of the checkpoint that was opened there; empty if none was
};

/// What is read there: the checkpoint and further folders with ranks of it.
std::vector<io::Path> readAt(const CheckPlace& place);

struct PlacedCheckpoint {
    CheckpointPtr checkpoint;
    CheckPlace place; ///< where it was opened
};

/// Which checks run.
struct CheckChoice {
    CheckDepth depth = CheckDepth::Metadata;
    std::vector<std::string> skip = {}; ///< codes of diagnoses
    CheckTarget target = {}; ///< what prevents this use is found, too
};

/// Forms in which a check can be saved.
enum class CheckReport : uint8_t { Html, Sarif, Json, Markdown };

/// Checks a checkpoint on a worker thread; one check at a time, the latest wins.
/// Findings can be read while it still looks. Lives on the GUI thread.
class CheckRun : public QObject
{
    Q_OBJECT
public:
    explicit CheckRun(io::FileSystem& files, QObject* parent = nullptr);
    ~CheckRun() override;

    /// `opened`: the checkpoint, if it was just opened there, so that it is not opened again.
    void start(CheckPlace place, CheckChoice choice, CheckpointPtr opened = {});
    /// Stops the check and keeps the findings so far.
    void stop();
    /// Clears everything, as when another checkpoint is opened.
    void clear();

    [[nodiscard]] io::FileSystem& files() const { return m_files; }
    [[nodiscard]] bool isRunning() const { return m_running; }
    [[nodiscard]] bool isStopping() const { return m_running && m_stop.stop_requested(); }
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    /// The findings so far, in order of arrival; after the end in the order of the result.
    [[nodiscard]] const std::vector<DoctorFinding>& findings() const { return m_findings; }
    /// At the end.
    [[nodiscard]] const std::shared_ptr<const CheckResult>& result() const { return m_result; }
    [[nodiscard]] const QTime& finishedAt() const { return m_finishedAt; } ///< local; of result()
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }
    [[nodiscard]] CheckDepth depth() const { return m_choice.depth; } ///< of the last start()
    [[nodiscard]] const std::vector<std::string>& skipped() const { return m_choice.skip; } ///< the same
    [[nodiscard]] const CheckTarget& target() const { return m_choice.target; } ///< the same
    [[nodiscard]] const CheckPlace& place() const { return m_place; } ///< of the last start()

Q_SIGNALS:
    /// Began, found something, ended or was cleared.
    void changed();
    void progressChanged();

private:
    struct Stage {
        std::optional<Progress> progress;
        std::optional<DoctorFinding> finding;
        std::optional<Result<CheckResult>> result;
    };
    void receive(Stage stage);
    void finish(Result<CheckResult> result);

    io::FileSystem& m_files;
    bool m_running = false;
    CheckPlace m_place;
    CheckChoice m_choice;
    Progress m_progress;
    std::vector<DoctorFinding> m_findings;
    std::shared_ptr<const CheckResult> m_result;
    QTime m_finishedAt;
    std::optional<Error> m_error;
    std::stop_source m_stop; ///< stops only the check; what it had found is still accepted
    QTimer m_pause; ///< findings come in bursts
    LatestOnly m_worker{WorkLength::Long};
};

/// A check that is saved.
struct CheckToSave {
    std::shared_ptr<const CheckResult> result;
    CheckDepth depth = CheckDepth::Metadata; ///< as it was asked for
    QString command; ///< that does the same
};

/// The report into a file, as `shardscope check` writes it. Empty when that went well, else why not. For a
/// worker.
QString writeCheckReport(
    io::FileSystem& files, const CheckToSave& check, CheckReport form, const SaveTarget& target);

} // namespace shardscope::ui
