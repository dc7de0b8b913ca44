// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "ui/style/theme.h"

#include <QByteArray>
#include <QDateTime>
#include <QMap>
#include <QObject>
#include <QSettings>

namespace shardscope::ui {

/// A checkpoint that was open when the window was closed, and how it was seen.
struct OpenedEntry {
    QString path;
    QString tag{}; ///< empty: as the path or `latest` says
    QString page{}; ///< in front, as --page names it; empty: not left yet
    QString selected{}; ///< the name of the parameter that was selected
    QString filter{}; ///< of the parameters
    QString against{}; ///< what it was compared with
    QStringList roots{}; ///< further folders that it was opened with
    bool salvage = false; ///< the first of them is a swap folder without a checkpoint of its own
    QString kind{}; ///< that it was opened as, as --kind names it; empty: the detected one
    /// Of the shown one, in windows of their own: "map GEOMETRY", or "map GEOMETRY SELECTION" if it is
    /// pinned. Both are Base64.
    QStringList pages{};
    int window = 0; ///< which of the windows it was open in
    bool operator==(const OpenedEntry&) const = default;
};

/// Whether both are opened from the same folders, as the same kind.
[[nodiscard]] bool isSamePlace(const OpenedEntry& a, const OpenedEntry& b);

/// A checkpoint that was open before. Its filter, partner and further windows are not kept.
struct RecentEntry : OpenedEntry {
    QString title{}; ///< "ZeRO-3 · 4 ranks · bf16"
    qulonglong bytes = 0;
    int tags = 0;
    QDateTime when{};
    bool pinned = false;
};

/// What was learnt from earlier jobs that wrote files.
struct WriteHistory {
    QString lastTarget; ///< where the last result of a run was written; empty: nowhere yet
    uint64_t writeRate = 0; ///< bytes a second of the last job, verification included; 0: not measured
};

/// The stored settings of the window. Typed, in one INI file, with a format number: a file of another format
/// is ignored, not misread. SHARDSCOPE_SETTINGS names another folder for it.
class Settings : public QObject
{
    Q_OBJECT
public:
    static constexpr int kFormat = 1;
    static constexpr int kMaxRecent = 20;
    static constexpr int kMaxFilters = 30;

    /// `folder` empty: SHARDSCOPE_SETTINGS, else the user's configuration folder.
    explicit Settings(const QString& folder = {}, QObject* parent = nullptr);

    /// The folder of the settings file; other files of the window are next to it.
    [[nodiscard]] QString folder() const;
    [[nodiscard]] ThemeMode themeMode() const;
    void setThemeMode(ThemeMode mode);
    /// In percent of the desktop's (text_size.h).
    [[nodiscard]] int textSize() const;
    void setTextSize(int percent);
    /// Whether the checkpoints that were open come back when the program is started without any.
    [[nodiscard]] bool restoresOpened() const;
    void setRestoresOpened(bool restores);
    /// The one that was shown is the last.
    [[nodiscard]] QList<OpenedEntry> opened() const;
    void setOpened(const QList<OpenedEntry>& entries);
    /// Widths of a table's columns that the user has set, by column: 0 is hidden, -1 shown as wide as needed.
    [[nodiscard]] QMap<int, int> columns(const QString& table) const;
    void setColumns(const QString& table, const QMap<int, int>& widths);
    /// Names of stored arrangements of the panels, in alphabetical order.
    [[nodiscard]] QStringList layouts() const;
    [[nodiscard]] QByteArray layout(const QString& name) const;
    /// An empty one is removed.
    void setLayout(const QString& name, const QByteArray& docks);
    [[nodiscard]] QByteArray geometry() const;
    [[nodiscard]] QByteArray docks() const;
    void setWindow(const QByteArray& geometry, const QByteArray& docks);
    /// The place is that of this run; empty for another run, whose place is elsewhere.
    [[nodiscard]] WriteHistory writeHistory(const io::Path& run) const;
    void setLastTarget(const io::Path& run, const io::Path& folder);
    void setWriteRate(uint64_t bytesPerSecond);
    /// The filters that the user saved, newest first; at most kMaxFilters.
    [[nodiscard]] QStringList filters() const;
    void setFilters(const QStringList& filters);
    /// How many jobs run at once.
    [[nodiscard]] int jobLimit() const;
    void setJobLimit(int jobs);

    /// Pinned ones first, then newest first.
    [[nodiscard]] QList<RecentEntry> recent() const;
    /// Adds or moves up; a pin is kept, and the time if `when` is invalid; then an unknown
    /// one is ignored.
    void remember(RecentEntry entry);
    void setPinned(const OpenedEntry& which, bool pinned);
    void forget(const OpenedEntry& which);

Q_SIGNALS:
    void recentChanged();

private:
    void writeRecent(const QList<RecentEntry>& entries);
    /// At the cursor of the list that is read or written.
    [[nodiscard]] OpenedEntry readEntry() const;
    void writeEntry(const OpenedEntry& entry);

    mutable QSettings m_store; ///< reading a list moves its cursor
};

} // namespace shardscope::ui
