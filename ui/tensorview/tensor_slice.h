// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::ui {

/// Two dimensions of a tensor as rows and columns, the others held at one position each. A tensor of one
/// dimension is wrapped into lines; one without has a single cell. Pure value.
class TensorSlice
{
public:
    struct Cell {
        uint64_t row = 0;
        uint64_t column = 0;
        bool operator==(const Cell&) const = default;
    };

    TensorSlice() = default;
    /// The last two dimensions, the others at 0.
    explicit TensorSlice(Shape shape);

    [[nodiscard]] const Shape& shape() const { return m_shape; }
    [[nodiscard]] bool isWrapped() const { return m_shape.size() < 2; }
    [[nodiscard]] uint64_t rows() const;
    [[nodiscard]] uint64_t columns() const;
    [[nodiscard]] bool isEmpty() const { return rows() == 0 || columns() == 0; }
    [[nodiscard]] size_t rowAxis() const { return m_rowAxis; }
    [[nodiscard]] size_t columnAxis() const { return m_columnAxis; }
    [[nodiscard]] uint64_t fixed(size_t axis) const { return m_fixed[axis]; }

    /// Needs two different dimensions of at least two.
    void setAxes(size_t rowAxis, size_t columnAxis);
    void setFixed(size_t axis, uint64_t position);

    /// The element of a cell; empty after the end of a wrapped tensor's last line.
    [[nodiscard]] std::optional<uint64_t> elementAt(Cell cell) const;
    /// Where an element is shown; empty if it is in another slice.
    [[nodiscard]] std::optional<Cell> cellOf(uint64_t element) const;
    /// The slice of the same axes that shows an element.
    void showElement(uint64_t element);
    /// Elements from one row, or column, to the next.
    [[nodiscard]] uint64_t rowStride() const;
    [[nodiscard]] uint64_t columnStride() const;
    [[nodiscard]] QString rowLabel(uint64_t row) const;
    [[nodiscard]] QString columnLabel(uint64_t column) const;

private:
    [[nodiscard]] uint64_t strideOf(size_t axis) const;

    Shape m_shape{0};
    std::vector<uint64_t> m_fixed{0};
    size_t m_rowAxis = 0;
    size_t m_columnAxis = 0;
    uint64_t m_elements = 0;
    uint64_t m_line = 1; ///< elements of a line, when wrapped
};

} // namespace shardscope::ui
