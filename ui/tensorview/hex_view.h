// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"
#include "ui/tensorview/cells_access.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/long_scroll.h"
#include "ui/tensorview/tensor_pages.h"

#include <QAbstractScrollArea>

namespace shardscope::ui {

/// The bytes of a tensor's elements in their order, sixteen to a line, and the same as ASCII, for tensors of
/// any size. A line begins with its place in the tensor and the place of its first byte in the file. The
/// element that the other views show is highlighted. Elements are in the tensor's order; in files they may be
/// in separate places: dashed lines show where another rank's elements begin.
class HexView : public QAbstractScrollArea, public CellSource
{
    Q_OBJECT
public:
    HexView(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent = nullptr);

    /// The pages have another source.
    void reset();
    /// A line as it is shown, without its offset: "3f 80 00 00  …"; "··" for bytes that are not there.
    [[nodiscard]] QString lineText(uint64_t line) const;
    [[nodiscard]] QString elementText(uint64_t element) const;
    /// The bytes of a line as ASCII; a point for those that are none.
    [[nodiscard]] QString asciiText(uint64_t line) const;
    /// Where the first element of a line is in its file: "0x1a40"; empty if it is in none.
    [[nodiscard]] QString fileOffsetText(uint64_t line) const;
    /// "[4] · dp 0 holds elements 0 to 7 · FILE, byte 6,720"
    [[nodiscard]] QString placeText(uint64_t element) const;

    [[nodiscard]] CellTable cellTable() const override;
    [[nodiscard]] QString cellValue(int row, int column) const override;
    [[nodiscard]] QString rowName(int row) const override;
    [[nodiscard]] QString columnName(int column) const override;
    [[nodiscard]] QRect cellRect(int row, int column) const override;
    [[nodiscard]] std::optional<CellTable::Cell> cellUnder(const QPoint& point) const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void measure();
    void followCursor(uint64_t element);
    void moveBy(int64_t elements);
    [[nodiscard]] uint64_t perLine() const; ///< elements
    [[nodiscard]] int left(uint64_t elementInLine) const;
    [[nodiscard]] int asciiLeft() const;
    [[nodiscard]] int linesShown() const;
    [[nodiscard]] QRect boxOf(uint64_t line, uint64_t elementInLine) const;
    [[nodiscard]] std::optional<uint64_t> elementAt(const QPoint& point) const; ///< of the viewport
    void paintHead(QPainter& painter) const;
    void paintLine(QPainter& painter, uint64_t line, int y) const;
    void paintBorders(QPainter& painter, uint64_t element, const QRect& box) const;

    Theme& m_theme;
    TensorPages& m_pages;
    ElementCursor& m_cursor;
    LongScroll m_lines;
    int m_rowHeight = 1;
    int m_charWidth = 1;
    int m_fileDigits = 4;
    int m_offsetWidth = 0; ///< of the place in the tensor
    int m_placesWidth = 0; ///< with that in the file
    int m_wheel = 0;
};

} // namespace shardscope::ui
