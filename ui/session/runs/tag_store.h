// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/run_tags.h"
#include "ui/jobs/latest_only.h"

#include <QObject>
#include <QTimer>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::ui {

/// A tag of the open run.
struct StoredTag {
    std::string tag;
    std::shared_ptr<const TagSummary> read; ///< null until it was read
};

/// The tags of the open run and what their names, sizes and headers say, read once for all views. Nothing is
/// read before a view wants it. GUI thread only.
class TagStore : public QObject
{
    Q_OBJECT
public:
    explicit TagStore(io::FileSystem& files);
    ~TagStore() override;

    /// The run of this checkpoint; with numbered checkpoints of a framework, the folder of all of them.
    /// Another snapshot of the run that was read keeps what was read, unless the run has other tags now.
    void setRun(const Checkpoint& checkpoint);
    void clear();
    /// Reads the newest tags on a worker, the newest first, unless that was done.
    void want(size_t most = std::numeric_limits<size_t>::max());
    /// Reads them, also those that were read.
    void readAgain();
    /// The same, unless nobody has wanted them.
    void refresh();

    /// Oldest first.
    [[nodiscard]] const std::vector<StoredTag>& tags() const { return m_tags; }
    /// Null until it was read.
    [[nodiscard]] const TagSummary* read(const std::string& tag) const;
    /// The name of the one that is open.
    [[nodiscard]] const std::string& openTag() const { return m_open; }
    [[nodiscard]] bool isNumbered() const { return m_numbered; }
    [[nodiscard]] const io::Path& folder() const { return m_run; }
    /// Why the tags cannot be listed.
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }
    [[nodiscard]] bool isReading() const { return m_reader.isRunning() || m_later.isActive(); }

Q_SIGNALS:
    /// tags(), error() or isReading() may say something else.
    void changed();

private:
    struct Delivered {
        std::optional<RunTags> run;
        std::optional<Error> error;
        std::shared_ptr<const TagSummary> tag;
    };
    void receive(Delivered what);
    void setNames(const std::vector<std::string>& names);
    [[nodiscard]] std::shared_ptr<const TagSummary> readOf(const std::string& tag) const;

    io::FileSystem& m_files;
    io::Path m_run;
    std::string m_open;
    bool m_numbered = false;
    std::vector<StoredTag> m_tags;
    std::optional<Error> m_error;
    size_t m_wanted = 0; ///< newest ones
    LatestOnly m_reader{WorkLength::Long};
    QTimer m_later; ///< several tags are one change
};

} // namespace shardscope::ui
