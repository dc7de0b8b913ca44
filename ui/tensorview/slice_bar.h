// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/tensorview/number_format.h"
#include "ui/tensorview/tensor_slice.h"

#include <QWidget>

class QComboBox;
class QMenu;
class QSpinBox;
class QToolButton;

namespace shardscope::ui {

class FlowLayout;

/// Which two dimensions of a tensor are rows and columns, where the others are held, and how values are
/// spelled; with a button that saves the values.
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
    /// As a NumPy file: the shown slice, or all of the tensor.
    void saveRequested(bool slice);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    [[nodiscard]] QComboBox* makeBox(const QString& name, const QString& accessible);
    void arrange();
    void fillAxes();
    void chooseAxes(bool rowsChanged);
    void readFormat();

    TensorSlice m_slice;
    NumberFormat m_format;
    FlowLayout* m_flow;
    QComboBox* m_rows;
    QComboBox* m_columns;
    QWidget* m_rowsPair; ///< with its label
    QWidget* m_columnsPair;
    QComboBox* m_form;
    QSpinBox* m_digits;
    QWidget* m_numbers;
    QToolButton* m_save;
    QMenu* m_sliceMenu = nullptr;
    QList<QWidget*> m_fixed; ///< a field with its label for each dimension that is neither
    bool m_filling = false;
};

} // namespace shardscope::ui
