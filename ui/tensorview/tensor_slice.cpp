// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_slice.h"

#include "ui/tensorview/tensor_source.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kShortestLine = 8;
constexpr uint64_t kLongestLine = 1024;

} // namespace

TensorSlice::TensorSlice(Shape shape)
    : m_shape(std::move(shape))
    , m_fixed(m_shape.size(), 0)
    , m_elements(elementCount(m_shape).value_or(0))
{
    if (m_shape.size() >= 2) {
        m_rowAxis = m_shape.size() - 2;
        m_columnAxis = m_shape.size() - 1;
        return;
    }
    // About a square, in lines of a power of two, so that places are easy to count.
    m_line = kShortestLine;
    while (m_line < kLongestLine && m_line * m_line < m_elements)
        m_line *= 2;
    m_line = std::max<uint64_t>(std::min(m_line, m_elements), 1);
}

uint64_t TensorSlice::rows() const
{
    return isWrapped() ? (m_elements + m_line - 1) / m_line : m_shape[m_rowAxis];
}

uint64_t TensorSlice::columns() const
{
    return isWrapped() ? (m_elements == 0 ? 0 : m_line) : m_shape[m_columnAxis];
}

void TensorSlice::setAxes(size_t rowAxis, size_t columnAxis)
{
    m_rowAxis = rowAxis;
    m_columnAxis = columnAxis;
}

void TensorSlice::setFixed(size_t axis, uint64_t position)
{
    m_fixed[axis] = std::min(position, std::max<uint64_t>(m_shape[axis], 1) - 1);
}

uint64_t TensorSlice::strideOf(size_t axis) const
{
    uint64_t stride = 1;
    for (size_t i = axis + 1; i < m_shape.size(); ++i)
        stride *= m_shape[i];
    return stride;
}

uint64_t TensorSlice::rowStride() const
{
    return isWrapped() ? m_line : strideOf(m_rowAxis);
}

uint64_t TensorSlice::columnStride() const
{
    return isWrapped() ? 1 : strideOf(m_columnAxis);
}

std::optional<uint64_t> TensorSlice::elementAt(Cell cell) const
{
    if (cell.row >= rows() || cell.column >= columns())
        return {};
    uint64_t element = cell.row * rowStride() + cell.column * columnStride();
    for (size_t axis = 0; axis < m_shape.size() && !isWrapped(); ++axis) {
        if (axis != m_rowAxis && axis != m_columnAxis)
            element += m_fixed[axis] * strideOf(axis);
    }
    return element < m_elements ? std::optional(element) : std::nullopt;
}

std::optional<TensorSlice::Cell> TensorSlice::cellOf(uint64_t element) const
{
    if (element >= m_elements)
        return {};
    if (isWrapped())
        return Cell{element / m_line, element % m_line};
    const std::vector<uint64_t> position = indexOf(m_shape, element);
    for (size_t axis = 0; axis < m_shape.size(); ++axis) {
        if (axis != m_rowAxis && axis != m_columnAxis && position[axis] != m_fixed[axis])
            return {};
    }
    return Cell{position[m_rowAxis], position[m_columnAxis]};
}

void TensorSlice::showElement(uint64_t element)
{
    if (element < m_elements && !isWrapped())
        m_fixed = indexOf(m_shape, element);
}

QString TensorSlice::rowLabel(uint64_t row) const
{
    return QString::number(isWrapped() ? row * m_line : row);
}

QString TensorSlice::columnLabel(uint64_t column) const
{
    return isWrapped() ? QString(u'+' % QString::number(column)) : QString::number(column);
}

} // namespace shardscope::ui
