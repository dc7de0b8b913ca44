// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/file_extents.h"
#include "ui/jobs/latest_only.h"
#include "ui/models/selection.h"
#include "ui/style/theme.h"

#include <QAbstractScrollArea>
#include <QPointer>

namespace shardscope::ui {

/// The files of a checkpoint as rows, and their bytes from left to right in one scale: which bytes hold which
/// state, what no state uses (pickles, directories, alignment), and which files are missing or damaged.
///
/// Ctrl+wheel and + − zoom, arrows and the wheel move, 0 shows everything; a click or Enter selects the file
/// and the byte. GUI thread.
class FileMap : public QAbstractScrollArea
{
    Q_OBJECT
public:
    explicit FileMap(const Theme& theme, QWidget* parent = nullptr);

    /// Null empties it. Places are collected on a worker.
    void setCheckpoint(const CheckpointPtr& checkpoint);
    void setSelection(Selection* selection);
    [[nodiscard]] bool isBusy() const { return m_collector.isRunning(); }
    struct Place {
        FileId file = kNoFile;
        uint64_t byte = 0;
    };
    /// What is at a byte of a file: "exp_avg of group 0 on dp 1: bytes 64 to 1,088, 1.0 KiB".
    [[nodiscard]] QString textAt(FileId file, uint64_t byte) const;
    /// The file's name, what is at the byte, and how much of the file states use.
    [[nodiscard]] QString tooltipAt(const Place& place) const;
    /// Shows whole files.
    void fit() { measure(); }
    /// The file and byte at a position of the viewport; nothing beside the rows.
    [[nodiscard]] std::optional<Place> placeAt(const QPoint& position) const;
    [[nodiscard]] const std::vector<FileId>& rows() const { return m_rows; }
    /// Bytes that fill the width.
    [[nodiscard]] uint64_t shownBytes() const { return m_shown; }

Q_SIGNALS:
    /// Enter or a double click: show the selected file.
    void fileActivated();
    /// U: another projection.
    void switchWanted();

protected:
    bool viewportEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    /// Orders the rows, and collects places on a worker: what a map that is never seen does not need.
    void collect();
    void measure();
    void measureLabels();
    void zoom(double factor, int anchor);
    void moveRow(int rows);
    void select(const Place& place);
    void follow(const SelectedThing& thing);
    [[nodiscard]] int rowHeight() const;
    [[nodiscard]] int legendHeight() const;
    [[nodiscard]] QRect barRect(size_t row) const;
    [[nodiscard]] double toX(const QRect& bar, uint64_t byte) const;
    [[nodiscard]] QColor colourOf(uint32_t state) const;
    void paintRow(QPainter& painter, size_t row) const;
    void paintExtents(QPainter& painter, const QRect& bar, FileId file) const;
    void paintLegend(QPainter& painter) const;

    const Theme& m_theme;
    CheckpointPtr m_checkpoint;
    std::shared_ptr<const FileExtents> m_extents;
    QPointer<Selection> m_selection;
    std::vector<FileId> m_rows; ///< in the order of their names
    int m_labelWidth = 0;
    uint64_t m_longest = 0; ///< bytes of the longest file
    uint64_t m_shown = 0;
    uint64_t m_first = 0; ///< the byte at the left edge
    size_t m_current = 0; ///< row
    LatestOnly m_collector{WorkLength::Short};
};

} // namespace shardscope::ui
