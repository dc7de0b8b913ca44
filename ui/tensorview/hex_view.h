// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/long_scroll.h"
#include "ui/tensorview/tensor_pages.h"

#include <QAbstractScrollArea>

namespace shardscope::ui {

/// The bytes of a tensor's elements in their order, sixteen to a line, for tensors of any size. The element
/// that the other views show is highlighted. Elements are in the tensor's order; in files they may be in
/// separate places.
class HexView : public QAbstractScrollArea
{
    Q_OBJECT
public:
    HexView(Theme& theme, TensorPages& pages, ElementCursor& cursor, QWidget* parent = nullptr);

    /// The pages have another source.
    void reset();
    /// A line as it is shown, without its offset: "3f 80 00 00  …"; "··" for bytes that are not there.
    [[nodiscard]] QString lineText(uint64_t line);
    [[nodiscard]] QString elementText(uint64_t element);
    [[nodiscard]] uint64_t firstLine() const { return m_lines.first(); }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void measure();
    void followCursor(uint64_t element);
    void moveBy(int64_t elements);
    [[nodiscard]] uint64_t perLine() const; ///< elements
    [[nodiscard]] int left(uint64_t elementInLine) const;

    Theme& m_theme;
    TensorPages& m_pages;
    ElementCursor& m_cursor;
    LongScroll m_lines;
    int m_rowHeight = 1;
    int m_charWidth = 1;
    int m_offsetWidth = 0;
    int m_wheel = 0;
};

} // namespace shardscope::ui
