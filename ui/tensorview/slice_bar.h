// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/tensorview/number_format.h"
#include "ui/tensorview/tensor_slice.h"

#include <QWidget>

class QComboBox;
class QSpinBox;

namespace shardscope::ui {

class FlowLayout;

/// Which two dimensions of a tensor are rows and columns, where the others are held, and how values are
/// spelled.
class SliceBar : public QWidget
{
    Q_OBJECT
public:
    explicit SliceBar(QWidget* parent = nullptr);

    /// Shows a slice without emitting signals; fields come and go with the number of dimensions.
    void setSlice(const TensorSlice& slice);
    [[nodiscard]] const NumberFormat& format() const { return m_format; }

Q_SIGNALS:
    void sliceChosen(const shardscope::ui::TensorSlice& slice);
    void formatChosen(const shardscope::ui::NumberFormat& format);

private:
    void fillAxes();
    void chooseAxes(bool rowsChanged);
    void readFormat();

    TensorSlice m_slice;
    NumberFormat m_format;
    QWidget* m_axes;
    QComboBox* m_rows;
    QComboBox* m_columns;
    QWidget* m_fixed; ///< a field per dimension that is neither
    QComboBox* m_form;
    QSpinBox* m_digits;
    bool m_filling = false;
};

} // namespace shardscope::ui
