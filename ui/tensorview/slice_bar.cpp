// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/slice_bar.h"

#include "ui/widgets/flow_layout.h"
#include "ui/widgets/focus_order.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSpinBox>
#include <QToolButton>

#include <algorithm>
#include <limits>
#include <utility>

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
    , m_flow(new FlowLayout(this))
    , m_rows(makeBox(u"sliceRows"_s, tr("Dimension shown as rows")))
    , m_columns(makeBox(u"sliceColumns"_s, tr("Dimension shown as columns")))
    , m_rowsPair(paired(tr("&Rows"), m_rows, this))
    , m_columnsPair(paired(tr("Co&lumns"), m_columns, this))
    , m_form(makeBox(u"numberForm"_s, tr("Number format")))
    , m_digits(new QSpinBox(this))
    , m_numbers(paired(tr("&Numbers"), m_form, this))
    , m_save(new QToolButton(this))
{
    setObjectName(u"sliceBar"_s);
    m_form->addItem(tr("digits"), static_cast<int>(NumberForm::Digits));
    m_form->addItem(tr("decimals"), static_cast<int>(NumberForm::Decimals));
    m_form->addItem(tr("scientific"), static_cast<int>(NumberForm::Scientific));
    m_form->addItem(tr("exact"), static_cast<int>(NumberForm::Exact));
    m_form->addItem(tr("hex"), static_cast<int>(NumberForm::Hex));
    m_digits->setObjectName(u"numberDigits"_s);
    m_digits->setAccessibleName(tr("Number of digits"));
    m_digits->setRange(1, kMaxDigits);
    m_digits->setValue(m_format.digits);
    m_numbers->layout()->addWidget(m_digits);
    m_save->setObjectName(u"saveArray"_s);
    m_save->setText(tr("Save Array…"));
    m_save->setToolTip(tr("Save the values with all digits as a NumPy file"));
    m_save->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_save);
    connect(menu->addAction(tr("&Whole Tensor…")), &QAction::triggered, this,
        [this] { Q_EMIT saveRequested(false); });
    connect(menu->addAction(tr("Shown &Slice…")), &QAction::triggered, this,
        [this] { Q_EMIT saveRequested(true); });
    m_sliceMenu = menu;
    m_flow->setContentsMargins(12, 6, 8, 6);
    arrange();
    connect(m_rows, &QComboBox::currentIndexChanged, this, [this] { chooseAxes(true); });
    connect(m_columns, &QComboBox::currentIndexChanged, this, [this] { chooseAxes(false); });
    connect(m_form, &QComboBox::currentIndexChanged, this, &SliceBar::readFormat);
    connect(m_digits, &QSpinBox::valueChanged, this, &SliceBar::readFormat);
    connect(m_save, &QToolButton::clicked, this, [this] {
        if (m_save->menu() == nullptr)
            Q_EMIT saveRequested(false);
    });
}

QComboBox* SliceBar::makeBox(const QString& name, const QString& accessible)
{
    auto* box = new QComboBox(this);
    box->setObjectName(name);
    box->setAccessibleName(accessible);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents); // entries change with the tensor
    return box;
}

/// Every field can begin a line of its own, so that none is cut off.
void SliceBar::arrange()
{
    while (QLayoutItem* item = m_flow->takeAt(0))
        delete item;
    const bool many = m_slice.shape().size() > 2;
    m_rowsPair->setVisible(many);
    m_columnsPair->setVisible(many);
    QList<QWidget*> order{m_rowsPair, m_columnsPair};
    order << m_fixed << m_numbers << m_save;
    for (QWidget* field : std::as_const(order))
        m_flow->addWidget(field);
    m_save->setMenu(many ? m_sliceMenu : nullptr);
    m_save->setPopupMode(many ? QToolButton::InstantPopup : QToolButton::DelayedPopup);
    orderFocus(order);
    setMinimumHeight(m_flow->heightForWidth(width()));
}

void SliceBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    setMinimumHeight(m_flow->heightForWidth(width())); // no view takes a line of it away
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
        for (const QWidget* pair : std::as_const(m_fixed)) {
            auto* field = pair->findChild<QSpinBox*>();
            field->setValue(static_cast<int>(slice.fixed(field->property("axis").toULongLong())));
        }
    }
    m_filling = false;
}

void SliceBar::fillAxes()
{
    const Shape& shape = m_slice.shape();
    m_rows->clear();
    m_columns->clear();
    for (QWidget* pair : std::exchange(m_fixed, {})) {
        m_flow->removeWidget(pair);
        pair->hide();
        pair->deleteLater(); // it may be what reports the change
    }
    if (shape.size() < 2)
        return arrange();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        m_rows->addItem(axisText(shape, axis));
        m_columns->addItem(axisText(shape, axis));
    }
    m_rows->setCurrentIndex(static_cast<int>(m_slice.rowAxis()));
    m_columns->setCurrentIndex(static_cast<int>(m_slice.columnAxis()));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (axis == m_slice.rowAxis() || axis == m_slice.columnAxis())
            continue;
        auto* field = new QSpinBox(this);
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
        m_fixed.append(paired(axisText(shape, axis), field, this));
        m_fixed.last()->show();
    }
    arrange();
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
