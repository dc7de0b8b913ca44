// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"
#include "ui/tensorview/cells_access.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/long_scroll.h"
#include "ui/tensorview/number_format.h"
#include "ui/tensorview/tensor_pages.h"
#include "ui/tensorview/tensor_slice.h"

#include <QAbstractScrollArea>

namespace shardscope::ui {

/// The values of a slice as a table with row and column indices, for tensors of any size: only the
/// visible part is read. Dashed lines show where a rank's elements end. A block can be selected and copied;
/// the cursor is shared with the other views.
class TensorGrid : public QAbstractScrollArea, public CellSource
{
    Q_OBJECT
public:
    TensorGrid(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent = nullptr);

    void setSlice(TensorSlice slice);
    [[nodiscard]] const TensorSlice& slice() const { return m_slice; }
    void setFormat(const NumberFormat& format);
    /// A cell as it is shown: its value, "…" while it is read, "missing", or empty.
    [[nodiscard]] QString cellText(TensorSlice::Cell cell) const;
    /// The selected block as lines of tab-separated values, with all digits.
    [[nodiscard]] QString selectedText();
    /// Scrolls so that the cursor is in the middle, as far as there are rows and columns.
    void centreCursor();
    [[nodiscard]] bool isComplete(); ///< every visible cell has arrived
    /// "[3, 17] · dp 1 holds elements 8,192 to 16,383"
    [[nodiscard]] QString placeText(TensorSlice::Cell cell) const;
    /// Whether one rank ends and another begins between a cell and the one at its left, or above it.
    [[nodiscard]] bool hasBorderLeft(TensorSlice::Cell cell) const;
    [[nodiscard]] bool hasBorderAbove(TensorSlice::Cell cell) const;

    [[nodiscard]] CellTable cellTable() const override;
    [[nodiscard]] QString cellValue(int row, int column) const override;
    [[nodiscard]] QString rowName(int row) const override;
    [[nodiscard]] QString columnName(int column) const override;
    [[nodiscard]] QRect cellRect(int row, int column) const override;
    [[nodiscard]] std::optional<CellTable::Cell> cellUnder(const QPoint& point) const override;
    [[nodiscard]] bool isCellSelected(int row, int column) const override;

Q_SIGNALS:
    /// Elements of a block were selected; their sum in words.
    void selectionChanged(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Metrics {
        int row = 1; ///< height
        int column = 1; ///< width
        int left = 0; ///< of the row indices
        int top = 0; ///< of the column indices
    };
    void measure();
    void followCursor(uint64_t element);
    void moveTo(TensorSlice::Cell cell, bool extend);
    void moveBy(int64_t rows, int64_t columns, bool extend);
    [[nodiscard]] std::optional<TensorSlice::Cell> cellAt(const QPoint& point) const;
    [[nodiscard]] QRect rectOf(TensorSlice::Cell cell) const;
    [[nodiscard]] bool isSelected(TensorSlice::Cell cell) const;
    [[nodiscard]] bool areApart(TensorSlice::Cell a, TensorSlice::Cell b) const;
    void paintHeaders(QPainter& painter) const;
    void paintBorders(QPainter& painter) const;
    void paintCell(QPainter& painter, TensorSlice::Cell cell);
    [[nodiscard]] TensorSlice::Cell visibleEnd() const; ///< first cell that is not seen
    void reportSelection();

    Theme& m_theme;
    TensorPages& m_pages;
    ElementCursor& m_cursor;
    TensorSlice m_slice;
    NumberFormat m_format;
    LongScroll m_rows;
    LongScroll m_columns;
    Metrics m_metrics;
    TensorSlice::Cell m_at; ///< the cursor's cell
    TensorSlice::Cell m_anchor; ///< the other corner of the selected block
    int m_wheel = 0; ///< remainder of a wheel with fine steps
};

} // namespace shardscope::ui
