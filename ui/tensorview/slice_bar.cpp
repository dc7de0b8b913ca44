// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/slice_bar.h"

#include "ui/widgets/flow_layout.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSpinBox>

#include <algorithm>
#include <limits>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxDigits = 17;

/// A label and its field that stay together when the line breaks.
QWidget* paired(const QString& text, QWidget* field, QWidget* parent)
{
    auto* pair = new QWidget(parent);
    auto* label = new QLabel(text, pair);
    label->setBuddy(field);
    auto* row = new QHBoxLayout(pair);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(5);
    row->addWidget(label);
    row->addWidget(field);
    return pair;
}

QString axisText(const Shape& shape, size_t axis)
{
    return SliceBar::tr("dim %1 (%2)").arg(axis).arg(shape[axis]);
}

} // namespace

SliceBar::SliceBar(QWidget* parent)
    : QWidget(parent)
    , m_axes(new QWidget(this))
    , m_rows(new QComboBox(m_axes))
    , m_columns(new QComboBox(m_axes))
    , m_fixed(new QWidget(this))
    , m_form(new QComboBox(this))
    , m_digits(new QSpinBox(this))
{
    setObjectName(u"sliceBar"_s);
    m_rows->setObjectName(u"sliceRows"_s);
    m_rows->setAccessibleName(tr("Dimension shown as rows"));
    m_columns->setObjectName(u"sliceColumns"_s);
    m_columns->setAccessibleName(tr("Dimension shown as columns"));
    m_form->setObjectName(u"numberForm"_s);
    m_form->setAccessibleName(tr("Number format"));
    m_form->addItem(tr("digits"), static_cast<int>(NumberForm::Digits));
    m_form->addItem(tr("decimals"), static_cast<int>(NumberForm::Decimals));
    m_form->addItem(tr("scientific"), static_cast<int>(NumberForm::Scientific));
    m_form->addItem(tr("exact"), static_cast<int>(NumberForm::Exact));
    m_form->addItem(tr("hex"), static_cast<int>(NumberForm::Hex));
    m_digits->setObjectName(u"numberDigits"_s);
    m_digits->setAccessibleName(tr("Number of digits"));
    m_digits->setRange(1, kMaxDigits);
    m_digits->setValue(m_format.digits);
    auto* axes = new QHBoxLayout(m_axes);
    axes->setContentsMargins(0, 0, 0, 0);
    axes->setSpacing(8);
    axes->addWidget(paired(tr("&Rows"), m_rows, m_axes));
    axes->addWidget(paired(tr("Co&lumns"), m_columns, m_axes));
    auto* fixed = new QHBoxLayout(m_fixed);
    fixed->setContentsMargins(0, 0, 0, 0);
    fixed->setSpacing(8);
    auto* numbers = new QWidget(this);
    auto* numberRow = new QHBoxLayout(numbers);
    numberRow->setContentsMargins(0, 0, 0, 0);
    numberRow->setSpacing(5);
    numberRow->addWidget(paired(tr("&Numbers"), m_form, numbers));
    numberRow->addWidget(m_digits);
    auto* flow = new FlowLayout(this);
    flow->setContentsMargins(12, 6, 8, 6);
    flow->addWidget(m_axes);
    flow->addWidget(m_fixed);
    flow->addWidget(numbers);
    connect(m_rows, &QComboBox::currentIndexChanged, this, [this] { chooseAxes(true); });
    connect(m_columns, &QComboBox::currentIndexChanged, this, [this] { chooseAxes(false); });
    connect(m_form, &QComboBox::currentIndexChanged, this, &SliceBar::readFormat);
    connect(m_digits, &QSpinBox::valueChanged, this, &SliceBar::readFormat);
}

void SliceBar::setSlice(const TensorSlice& slice)
{
    const bool same = slice.shape() == m_slice.shape() && slice.rowAxis() == m_slice.rowAxis()
        && slice.columnAxis() == m_slice.columnAxis();
    m_slice = slice;
    m_filling = true;
    if (!same) {
        fillAxes();
    } else {
        for (QSpinBox* field : m_fixed->findChildren<QSpinBox*>())
            field->setValue(static_cast<int>(slice.fixed(field->property("axis").toULongLong())));
    }
    m_filling = false;
}

void SliceBar::fillAxes()
{
    const Shape& shape = m_slice.shape();
    m_axes->setVisible(shape.size() > 2);
    m_fixed->setVisible(shape.size() > 2);
    m_rows->clear();
    m_columns->clear();
    qDeleteAll(m_fixed->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
    if (shape.size() < 2)
        return;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        m_rows->addItem(axisText(shape, axis));
        m_columns->addItem(axisText(shape, axis));
    }
    m_rows->setCurrentIndex(static_cast<int>(m_slice.rowAxis()));
    m_columns->setCurrentIndex(static_cast<int>(m_slice.columnAxis()));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (axis == m_slice.rowAxis() || axis == m_slice.columnAxis())
            continue;
        auto* field = new QSpinBox(m_fixed);
        field->setObjectName(u"sliceFixed%1"_s.arg(axis));
        field->setAccessibleName(tr("Position in dimension %1").arg(axis));
        field->setProperty("axis", static_cast<qulonglong>(axis));
        field->setRange(0,
            static_cast<int>(
                std::min<uint64_t>(std::max<uint64_t>(shape[axis], 1) - 1, std::numeric_limits<int>::max())));
        field->setValue(static_cast<int>(m_slice.fixed(axis)));
        connect(field, &QSpinBox::valueChanged, this, [this, axis](int position) {
            if (m_filling)
                return;
            m_slice.setFixed(axis, static_cast<uint64_t>(position));
            Q_EMIT sliceChosen(m_slice);
        });
        QWidget* pair = paired(axisText(shape, axis), field, m_fixed);
        m_fixed->layout()->addWidget(pair);
        pair->show();
    }
}

void SliceBar::chooseAxes(bool rowsChanged)
{
    if (m_filling)
        return;
    auto rows = static_cast<size_t>(m_rows->currentIndex());
    auto columns = static_cast<size_t>(m_columns->currentIndex());
    if (rows == columns) // they change places
        (rowsChanged ? columns : rows) = rowsChanged ? m_slice.rowAxis() : m_slice.columnAxis();
    m_slice.setAxes(rows, columns);
    m_filling = true;
    fillAxes();
    m_filling = false;
    Q_EMIT sliceChosen(m_slice);
}

void SliceBar::readFormat()
{
    m_format = {static_cast<NumberForm>(m_form->currentData().toInt()), m_digits->value()};
    m_digits->setEnabled(m_format.form != NumberForm::Exact && m_format.form != NumberForm::Hex);
    Q_EMIT formatChosen(m_format);
}

} // namespace shardscope::ui
