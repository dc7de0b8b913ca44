// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"
#include "ui/tensorview/cells_access.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/heat_samples.h"
#include "ui/tensorview/value_scale.h"

#include <QImage>
#include <QWidget>

#include <optional>
#include <utility>

namespace shardscope::ui {

/// A slice as a picture with its colour bar. NaN, infinite and missing elements have colours and patterns of
/// their own; dashed lines show where a rank's elements end. A click shows the element in the other views;
/// keys go from cell to cell of the picture, each to the element with the value shown in the cell.
class HeatMap : public QWidget, public CellSource
{
    Q_OBJECT
public:
    HeatMap(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent = nullptr);

    /// Reads the slice on a worker; null: no slice. Until it was read, the picture of the slice before is
    /// shown, pale, without cursor and range, and cannot be clicked.
    void setSlice(TensorSourcePtr source, const TensorSlice& slice);
    void setSymmetric(bool symmetric);
    void setLogarithmic(bool logarithmic);
    /// The value range of the colours; empty: the range of the read values.
    void setRange(std::optional<std::pair<double, double>> range);
    /// The cursor's element in words, for screen readers and for cellDescribed().
    void setCursorText(const QString& text);
    [[nodiscard]] const ValueScale& scale() const { return m_scale; }
    [[nodiscard]] const HeatSamples& samples() const { return m_samples; }
    [[nodiscard]] bool isBusy() const { return m_reader.isRunning(); }
    /// A cell in one line: "[3, 17] = 0.25 · dp 1 holds elements 8 to 15".
    [[nodiscard]] QString cellText(int x, int y) const;
    [[nodiscard]] QSize sizeHint() const override { return {320, 220}; }

    [[nodiscard]] CellTable cellTable() const override;
    [[nodiscard]] QString cellValue(int row, int column) const override;
    [[nodiscard]] QString rowName(int row) const override;
    [[nodiscard]] QString columnName(int column) const override;
    [[nodiscard]] QRect cellRect(int row, int column) const override;
    [[nodiscard]] std::optional<CellTable::Cell> cellUnder(const QPoint& point) const override;

Q_SIGNALS:
    /// The slice was read.
    void arrived();
    /// The cell at the pointer or the keyboard cursor, in one line; empty when both are elsewhere.
    void cellDescribed(const QString& text);
    /// Enter: the grid is to show the cursor in its middle.
    void centreRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    void rescale();
    [[nodiscard]] QRect imageArea() const;
    [[nodiscard]] bool hasHatches(const QRect& area) const;
    void paintHatches(QPainter& painter, const QRect& area) const;
    void paintBorders(QPainter& painter, const QRect& area) const;
    void paintCursor(QPainter& painter, const QRect& area) const;
    void paintBar(QPainter& painter, const QRect& area) const;
    void paintKinds(QPainter& painter, const QRect& area) const;
    /// The kinds of cells without a value, with their names.
    [[nodiscard]] std::vector<std::pair<HeatKind, QString>> kindsSeen() const;
    void pick(const QPoint& point);
    /// The cell of the picture at the cursor; empty if there is none.
    [[nodiscard]] std::optional<QPoint> cursorCell() const;
    [[nodiscard]] uint64_t elementOf(int x, int y) const;
    void goTo(int x, int y);
    void report();

    io::FileSystem& m_files;
    Theme& m_theme;
    ElementCursor& m_cursor;
    TensorSourcePtr m_source;
    ElementPlacesPtr m_places;
    TensorSlice m_slice;
    HeatSamples m_samples;
    bool m_isCurrent = false; ///< the samples are of m_slice
    ValueScale m_scale;
    std::optional<std::pair<double, double>> m_range;
    bool m_symmetric = true;
    bool m_logarithmic = false;
    QImage m_image;
    QString m_cursorText;
    LatestOnly m_reader{WorkLength::Long};
};

} // namespace shardscope::ui
