// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/session: the open checkpoint, and the checks, comparisons and writes that run on it. Start with
// Session.

#include "core/checkpoint/folder/run_search.h"
#include "core/checkpoint/open/open.h"
#include "core/layout/map_query.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection.h"
#include "ui/session/check_run.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace shardscope::ui {

class FingerprintStore;
class TagStore;

/// The paths that are opened together.
struct OpenedPlace {
    io::Path path;
    std::string tag;
    std::vector<io::Path> roots;
    bool salvage = false; ///< the first of roots is a swap folder without a checkpoint of its own
    std::optional<CheckpointKind> kind = {}; ///< in place of the detected one
    bool operator==(const OpenedPlace&) const = default;
};

/// A checkpoint that was read, and from where.
struct ReadCheckpoint {
    OpenedPlace place;
    CheckpointPtr checkpoint;
    MapLooksPtr looks;
};

using RunsFolderPtr = std::shared_ptr<const RunsFolder>;

/// What became of a checkpoint's files since they were read.
struct DiskChanges {
    uint64_t deleted = 0;
    uint64_t changed = 0;
    uint64_t appeared = 0; ///< they were missing, or are new in the tag's folder
    std::string firstDeleted{}; ///< names, raw bytes
    std::string firstChanged{};
    std::string firstAppeared{};
    uint64_t tags = 0; ///< that are new in the run
    std::string firstTag{};

    [[nodiscard]] bool isEmpty() const { return deleted + changed + appeared + tags == 0; }
    bool operator==(const DiskChanges&) const = default;
};

/// The open checkpoint: one at a time, read in two stages on a worker thread.
///
/// The first snapshot is shown as soon as rank 0's files are understood, the second replaces it when every
/// file was read. Snapshots are immutable; the selection is carried over by name. The latest open() wins.
class Session : public QObject
{
    Q_OBJECT
public:
    explicit Session(io::FileSystem& files, QObject* parent = nullptr);
    ~Session() override;

    void open(const io::Path& path, const std::string& tag = {});
    void open(OpenedPlace place);
    /// Opens the open checkpoint again together with another folder: other ranks of it, or the run's swap
    /// folder. If only a swap folder is open, `folder` is the checkpoint that describes its files.
    void addFolder(const io::Path& folder);
    /// Another tag of the run that is open, with the same further folders.
    void openTag(const std::string& tag);
    void reload();
    /// Closes the checkpoint. If none is open, closes the folder of runs.
    void close();
    /// What is shown now; without a checkpoint if nothing is.
    [[nodiscard]] ReadCheckpoint shown() const { return {m_shown, m_checkpoint, m_looks}; }
    /// Shows what shown() returned earlier, without reading what was read, and selects `thing` in it.
    void showAgain(const ReadCheckpoint& read, const SelectedThing& thing);

    [[nodiscard]] const CheckpointPtr& checkpoint() const { return m_checkpoint; }
    /// Of the checkpoint, made with it on the worker; null where there is none.
    [[nodiscard]] const MapLooksPtr& looks() const { return m_looks; }
    [[nodiscard]] const io::Path& path() const { return m_place.path; }
    [[nodiscard]] const std::vector<io::Path>& roots() const { return m_place.roots; }
    /// The place of the shown checkpoint, for reading it again: its folder and tag even if a single file was
    /// opened.
    [[nodiscard]] CheckPlace place() const;
    [[nodiscard]] bool isOpening() const { return m_opening; }
    [[nodiscard]] Selection& selection() { return m_selection; }
    [[nodiscard]] io::FileSystem& files() const { return m_files; }
    /// The folder of runs that was opened last; null if none was, and after it was closed.
    [[nodiscard]] const RunsFolderPtr& runsFolder() const { return m_runs; }
    /// The tags of the run that is open.
    [[nodiscard]] TagStore& tags() const { return *m_tags; }
    /// What was computed in this window.
    [[nodiscard]] FingerprintStore& fingerprints() const { return *m_fingerprints; }

    /// Checks on a worker which files have changed since they were read; emits changedOnDisk() if that is not
    /// what it said last. This is also done every few seconds if there are few files, and some seconds after
    /// the checkpoint's folders have changed if there are many.
    void checkOnDisk();

Q_SIGNALS:
    void openingChanged(bool opening);
    /// Another checkpoint, or none, is about to be shown: selection() is still that of the former one.
    void leaving();
    /// A snapshot was swapped in; null after close(). `refined`: the same checkpoint, read more deeply.
    void checkpointChanged(const shardscope::CheckpointPtr& checkpoint, bool refined);
    void openFailed(const shardscope::Error& error);
    /// What was to be opened is a folder of runs. A checkpoint that is open stays open.
    void runsFound();
    void progressChanged(const QString& text);
    /// Empty: the files are again as they were read.
    void changedOnDisk(const shardscope::ui::DiskChanges& changes);

private:
    struct Stage {
        QString progress;
        std::optional<Result<OpenedCheckpoint>> result;
        MapLooksPtr looks;
        RunsFolderPtr runs; ///< instead, if the result is an error
        bool last = false;
    };
    void read(bool refining);
    void receive(Stage stage, bool refining);
    void show(OpenedCheckpoint opened, bool refined);
    void stopReading();
    void lookAtFolders();
    void beginWatching();
    /// What became of the files, and the names in the tag's folder.
    struct DiskLook {
        DiskChanges changes;
        /// Nothing: it could not be listed. Folders of the run are "../NAME".
        std::optional<std::set<std::string>> names;
    };
    static void lookForTags(io::FileSystem& files, const Checkpoint& checkpoint,
        const std::optional<std::set<std::string>>& before, DiskLook& look, const std::stop_token& token);
    static std::optional<DiskLook> lookAtFiles(io::FileSystem& files, const Checkpoint& checkpoint,
        const std::optional<std::set<std::string>>& before, const std::stop_token& token);

    io::FileSystem& m_files;
    Selection m_selection;
    OpenedPlace m_place; ///< requested
    OpenedPlace m_shown; ///< where m_checkpoint is from; taken up again when opening another place fails
    CheckpointPtr m_checkpoint;
    MapLooksPtr m_looks;
    bool m_opening = false;
    bool m_staged = false; ///< a snapshot of the checkpoint being opened is already shown
    LatestOnly m_opener{WorkLength::Long};
    LatestOnly m_watcher{WorkLength::Long};
    QTimer m_poll;
    DiskChanges m_toldChanges; ///< by the last changedOnDisk() of this checkpoint
    std::optional<std::set<std::string>> m_names; ///< DiskLook::names of the first look
    LatestOnly m_folderLook{WorkLength::Long};
    RunsFolderPtr m_runs;
    std::unique_ptr<TagStore> m_tags;
    std::unique_ptr<FingerprintStore> m_fingerprints;
    std::vector<int64_t> m_folderTimes; ///< of the last look; empty: none yet
};

/// What opens it again: its tag in its run, with the same further folders, as the same kind. `followsLatest`:
/// if it is the run's latest one, whatever is the latest then.
OpenedPlace placeToReopen(const Checkpoint& checkpoint, OpenedPlace opened, bool followsLatest);

/// The same selection in another snapshot of the checkpoint, by names; missing parts are left out.
SelectedThing translated(const SelectedThing& thing, const Checkpoint& from, const Checkpoint& to);

} // namespace shardscope::ui
