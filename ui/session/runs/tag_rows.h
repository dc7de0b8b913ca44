// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/session/runs: the tags of the open run, and the runs of a folder. Start with TagStore.

#include "ui/models/column_table.h"
#include "ui/session/runs/tag_store.h"

#include <QStringList>

#include <cstdint>
#include <memory>
#include <optional>

namespace shardscope::ui {

/// A tag of the open run, with what is not as in the one before.
struct TagRow {
    std::string tag;
    std::shared_ptr<const TagSummary> read; ///< null until it was read
    std::optional<int64_t> steps; ///< since the one before
    bool isGap = false; ///< these are many more than usual in this run
    QString change; ///< of kind and ranks; "4 → 8 ranks"
    QString same; ///< the tag that has the same fingerprint; empty: none, or it is not known
    bool isOpen = false;
};

/// The tags, oldest first.
[[nodiscard]] std::vector<TagRow> tagRows(const TagStore& store);
/// "complete in names and headers", "2 errors", "cannot be read", "reading…".
[[nodiscard]] QString tagRowState(const TagRow& row);
/// For filters of tables.
[[nodiscard]] bool holdsWords(const QString& text, const QStringList& words);
/// "complete", "1 error", "cannot be read": as names, sizes and headers show it.
[[nodiscard]] QString tagStateText(const TagSummary& tag);
/// "–" for a universal folder, which any number of ranks loads.
[[nodiscard]] QString rankCountText(const TagSummary& tag);
/// "step 5 · ZeRO-3 · 4 ranks", "385.0 KiB · 2026-11-27 17:57"; none if it cannot be read.
[[nodiscard]] QStringList tagLines(const TagSummary& tag);
/// "2026-11-27 17:57"; empty if it is not known.
[[nodiscard]] QString tagDateText(const TagSummary& tag);
/// All of it in one line.
[[nodiscard]] QString tagRowText(const TagRow& row);
/// "step 6 · 385.0 KiB · 2026-11-27 17:57 · 1 error": for menus.
[[nodiscard]] QString tagMenuText(const TagSummary& tag);

/// Tags of the open run as a table; rows are indices into rows of tagRows().
class TagTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    enum { Tag, Step, Since, Date, Bytes, Kind, Ranks, State, Change };

    explicit TagTableModel(QObject* parent = nullptr);

    void setTags(std::vector<TagRow> tags);
    [[nodiscard]] const std::vector<TagRow>& tags() const { return m_tags; }
    /// Every word must occur in a row.
    void setFilter(const QString& text);
    void sort(int column, Qt::SortOrder order) override;

private:
    void rebuild();
    [[nodiscard]] const TagRow& at(uint32_t row) const { return m_tags[row]; }

    std::vector<TagRow> m_tags;
    uint64_t m_maxBytes = 0;
    QStringList m_filter; ///< words
    int m_sortColumn = -1; ///< -1: newest first
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace shardscope::ui
