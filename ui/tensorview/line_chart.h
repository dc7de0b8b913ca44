// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobs/latest_only.h"
#include "ui/style/theme.h"
#include "ui/tensorview/cells_access.h"
#include "ui/tensorview/element_cursor.h"
#include "ui/tensorview/element_places.h"
#include "ui/tensorview/line_samples.h"
#include "ui/tensorview/value_scale.h"

#include <QWidget>

#include <optional>
#include <utility>

namespace shardscope::ui {

/// A vector as a line over its index: each pixel column has the lowest and highest value of its elements.
/// NaN, infinite and missing elements have marks of their own; dashed lines show where a rank's elements end.
/// A click or a key shows an element in the other views; the range of elements can be zoomed and scrolled.
class LineChart : public QWidget, public CellSource
{
    Q_OBJECT
public:
    LineChart(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent = nullptr);

    /// Reads the vector on a worker, and shows all of it; null: none.
    void setSource(TensorSourcePtr source);
    void setSymmetric(bool symmetric);
    void setLogarithmic(bool logarithmic);
    /// The value range of the axis; empty: that of the read values.
    void setRange(std::optional<std::pair<double, double>> range);
    /// The cursor's element in words, for screen readers and for cellDescribed().
    void setCursorText(const QString& text);
    [[nodiscard]] const ValueScale& scale() const { return m_scale; }
    [[nodiscard]] const LineSamples& samples() const { return m_samples; }
    /// The elements that are shown.
    [[nodiscard]] std::pair<uint64_t, uint64_t> view() const { return {m_begin, m_end}; }
    [[nodiscard]] bool isBusy() const { return m_reader.isRunning(); }
    /// The elements of a pixel column in one line: "[3] = 0.25 · dp 1", "[96 … 103]: -0.1 to 0.2".
    [[nodiscard]] QString columnText(size_t column) const;
    /// The pixel of an element, and the element of a pixel.
    [[nodiscard]] int xOf(uint64_t element) const;
    [[nodiscard]] uint64_t elementAt(int x) const;
    [[nodiscard]] QSize sizeHint() const override { return {320, 220}; }

    [[nodiscard]] CellTable cellTable() const override;
    [[nodiscard]] QString cellValue(int row, int column) const override;
    [[nodiscard]] QString rowName(int row) const override;
    [[nodiscard]] QString columnName(int column) const override;
    [[nodiscard]] QRect cellRect(int row, int column) const override;
    [[nodiscard]] std::optional<CellTable::Cell> cellUnder(const QPoint& point) const override;

Q_SIGNALS:
    /// The shown range was read.
    void arrived();
    /// The column at the pointer or the keyboard cursor, in one line; empty when both are elsewhere.
    void cellDescribed(const QString& text);
    /// Enter: the grid is to show the cursor in its middle.
    void centreRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    static constexpr int kDraggedPixels = 4; ///< that make a drag of a click

    void setView(uint64_t begin, uint64_t end);
    void zoom(double factor, uint64_t around);
    void scrollBy(int64_t elements);
    void read();
    void rescale();
    void report();
    void goTo(int64_t by);
    [[nodiscard]] QRect plot() const;
    [[nodiscard]] std::vector<double> ticks() const; ///< of the value axis
    [[nodiscard]] int yOf(double value) const;
    [[nodiscard]] double xMiddle(const LineColumn& column) const;
    void paintAxes(QPainter& painter) const;
    void paintRanks(QPainter& painter) const;
    void paintLine(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void paintCursor(QPainter& painter) const;
    [[nodiscard]] QString marksText() const;

    io::FileSystem& m_files;
    Theme& m_theme;
    ElementCursor& m_cursor;
    TensorSourcePtr m_source;
    ElementPlacesPtr m_places;
    LineSamples m_samples;
    ValueScale m_scale;
    std::optional<std::pair<double, double>> m_range;
    uint64_t m_begin = 0;
    uint64_t m_end = 0;
    int m_axisWidth = 0; ///< of the values at the axis
    QString m_cursorText;
    std::optional<int> m_pressed; ///< where a drag began
    int m_hover = -1; ///< the pointer, if it is over the line
    LatestOnly m_reader{WorkLength::Long};
};

} // namespace shardscope::ui
