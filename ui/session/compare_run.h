// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/map_query.h"
#include "core/report/summary/report_head.h"
#include "ui/jobs/latest_only.h"
#include "ui/jobs/save_file.h"
#include "ui/models/difference_list.h"
#include "ui/models/difference_marks.h"
#include "ui/session/check_run.h"
#include "ui/session/shell_words.h"

#include <QObject>

#include <optional>

namespace shardscope::ui {

/// The choices of a comparison with the open checkpoint.
struct CompareWish {
    io::Path other; ///< run, tag or universal folder, or a file
    /// How to merge slices if the two sides are sliced differently; empty: as the checkpoints record.
    io::Path patternsFile;
    DiffOptions options;
};

/// A finished comparison.
struct CompareOutcome {
    CheckpointPtr left; ///< as stored in files
    CheckpointPtr right;
    MapLooksPtr leftLooks;
    MapLooksPtr rightLooks;
    std::shared_ptr<const JudgedDiff> judged;
    DifferenceListPtr differences;
    DifferenceMarksPtr leftMarks;
    DifferenceMarksPtr rightMarks;
};
using CompareOutcomePtr = std::shared_ptr<const CompareOutcome>;

/// Compares the open checkpoint with another one on a worker thread; one comparison at a time, the latest
/// wins. Lives on the GUI thread.
class CompareRun : public QObject
{
    Q_OBJECT
public:
    explicit CompareRun(io::FileSystem& files, QObject* parent = nullptr);

    /// Where both are on one other host, it computes the comparison (far_answers.h).
    void start(PlacedCheckpoint left, CompareWish wish);
    /// Stops the running comparison; the previous result was already cleared.
    void cancel();
    /// Clears everything, as when another checkpoint is opened.
    void clear();

    [[nodiscard]] bool isRunning() const { return m_running; }
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    [[nodiscard]] const CompareOutcomePtr& outcome() const { return m_outcome; } ///< null before the end
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }
    [[nodiscard]] const std::optional<CompareWish>& wish() const { return m_wish; } ///< of the last start()
    /// Of the last start(): which other host computes it, or sends the values. Empty: all is on this machine.
    [[nodiscard]] const QString& whereText() const { return m_where; }

Q_SIGNALS:
    /// Began, ended, was cancelled or cleared.
    void changed();
    void progressChanged();

private:
    struct Stage {
        Progress progress;
        std::optional<Result<CompareOutcomePtr>> result;
    };
    void receive(Stage stage);

    io::FileSystem& m_files;
    bool m_running = false;
    Progress m_progress;
    CompareOutcomePtr m_outcome;
    std::optional<Error> m_error;
    std::optional<CompareWish> m_wish;
    QString m_where;
    LatestOnly m_worker{WorkLength::Long};
};

/// The same as a command line of `shardscope`, quoted for a shell.
QString compareCommand(const SourceWords& left, const CompareWish& wish);
/// A comparison that is saved.
struct ComparisonToSave {
    CompareOutcomePtr outcome;
    CompareWish wish;
    ReportHead head; ///< without the checkpoints
};
/// Writes the whole comparison to a file, as `shardscope diff --json` prints it. Returns an empty text on
/// success, else the error. For a worker.
QString writeComparison(io::FileSystem& files, const ComparisonToSave& comparison, const SaveTarget& target);
/// These rows of outcome.differences, in this order, as CSV (core/report/documents/diff_csv.h). Result as
/// above.
QString writeDifferenceRows(io::FileSystem& files, const ComparisonToSave& comparison,
    const std::vector<uint32_t>& rows, const SaveTarget& target);

} // namespace shardscope::ui
