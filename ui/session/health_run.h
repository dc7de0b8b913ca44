// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/health/health_alarms.h"
#include "core/report/summary/report_head.h"
#include "ui/jobs/latest_only.h"
#include "ui/jobs/save_file.h"

#include <QObject>

#include <memory>
#include <optional>

namespace shardscope::ui {

/// What was read of the health of a checkpoint, and of the other tags of its run. Immutable.
struct HealthFacts {
    std::optional<TagHealth> tag; ///< nothing yet
    std::vector<TagHealth>
        history; ///< oldest first, with the checkpoint's own tag; empty: not read yet, or no run
    std::vector<HealthAlarm> alarms; ///< of the history once it is complete, else of the tag alone
    size_t tagsLeft = 0; ///< of the history
    size_t tagsOmitted = 0; ///< others, which are not read
    bool isListed = false; ///< the tags of the run are known
    bool isComplete = false;
    std::optional<Error> error;

    [[nodiscard]] bool hasAlarm(std::string_view layer) const;
    /// Everything that was to be read was read.
    [[nodiscard]] bool isWhole() const { return isComplete && tagsLeft == 0 && !error; }
    /// The history can be reported: what is there is all of it, and the alarms are its alarms.
    [[nodiscard]] bool hasHistory() const { return isWhole() && !history.empty(); }
};
using HealthFactsPtr = std::shared_ptr<const HealthFacts>;

/// The rows of a table of it, to be saved.
struct HealthTable {
    CheckpointPtr checkpoint;
    HealthFactsPtr facts;
    std::vector<uint32_t> rows; ///< in their order
    bool byParam = false;
    io::Path path; ///< of the checkpoint, as it was opened
    ReportHead head; ///< without the checkpoint
};

/// Writes *.json as the answer of `shardscope stats --health --json`, with the history if it has that; all
/// else as CSV with the same fields (core/report/text/csv_row.h), with the head as comments. Returns why it
/// could not be written; empty if it was. For a worker.
QString writeHealthTable(io::FileSystem& files, HealthTable table, const SaveTarget& target);

/// Reads it on a worker thread: first the checkpoint, then the newest tags of its run. The latest start()
/// wins. Lives on the GUI thread.
class HealthRun : public QObject
{
    Q_OBJECT
public:
    static constexpr size_t kMostTags = 20;

    explicit HealthRun(io::FileSystem& files, QObject* parent = nullptr);

    /// Its run, and its own name there. Without a folder the checkpoint is looked at alone. `open`: how it
    /// was opened.
    struct Place {
        io::Path run;
        std::string tag;
        OpenOptions open = {};
    };
    /// `exact`: every element, of all tags; else samples.
    void start(const CheckpointPtr& checkpoint, Place place, bool exact);
    /// Keeps what was read.
    void stop();
    void clear();

    [[nodiscard]] bool isRunning() const { return m_running; }
    [[nodiscard]] bool isExact() const { return m_exact; } ///< of the last start()
    [[nodiscard]] const Progress& progress() const { return m_progress; }
    [[nodiscard]] const HealthFactsPtr& facts() const { return m_facts; } ///< never null

Q_SIGNALS:
    void changed();
    void progressChanged();

private:
    struct Stage {
        std::optional<Progress> progress;
        HealthFactsPtr facts;
    };
    void receive(const Stage& stage);

    io::FileSystem& m_files;
    bool m_running = false;
    bool m_exact = false;
    Progress m_progress;
    HealthFactsPtr m_facts = std::make_shared<const HealthFacts>();
    LatestOnly m_worker{WorkLength::Long};
};

} // namespace shardscope::ui
