// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_header.h"

#include "core/base/text.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/widgets/flow_layout.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QToolButton>

namespace shardscope::ui {

namespace {

/// A caption and its box, which stay together when the header takes several lines.
QComboBox* addChoice(FlowLayout* layout, const QString& label, const QString& objectName, const QString& tip)
{
    auto* pair = new QWidget(layout->parentWidget());
    auto* caption = new QLabel(label, pair);
    auto* box = new QComboBox(pair);
    box->setObjectName(objectName);
    box->setToolTip(tip);
    box->setAccessibleName(tip);
    box->setMaxVisibleItems(24);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    caption->setBuddy(box);
    auto* line = new QHBoxLayout(pair);
    line->setContentsMargins(0, 0, 8, 0);
    line->addWidget(caption);
    line->addWidget(box);
    layout->addWidget(pair);
    return box;
}

} // namespace

MapHeader::MapHeader(QWidget* parent)
    : QWidget(parent)
{
    setObjectName(QStringLiteral("mapHeader"));
    auto* layout = new FlowLayout(this);
    layout->setContentsMargins(8, 4, 8, 4);
    m_unit = addChoice(layout, tr("&Unit"), QStringLiteral("mapUnit"), tr("Flat group or sub-group to show"));
    m_unit->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_unit->setMinimumContentsLength(30);
    m_state = addChoice(
        layout, tr("S&tate"), QStringLiteral("mapState"), tr("Master weights or an optimizer state"));
    m_projection = addChoice(layout, tr("&Rows"), QStringLiteral("mapProjection"),
        tr("One row per rank, or all ranks as one line (U)"));
    m_projection->addItem(tr("Partitions"), static_cast<int>(MapQuery::Projection::Partitions));
    m_projection->addItem(tr("Unrolled"), static_cast<int>(MapQuery::Projection::Unrolled));
    m_mode = addChoice(layout, tr("&Colour"), QStringLiteral("mapColourMode"), tr("What the colours mean"));
    for (const auto mode : kMapColourModes) {
        m_mode->addItem(MapText::modeName(mode), static_cast<int>(mode));
    }
    auto* fit = new QToolButton(this);
    fit->setObjectName(QStringLiteral("mapFit"));
    fit->setText(tr("Fit"));
    fit->setToolTip(tr("Show the whole map (0)"));
    layout->addWidget(fit);

    connect(m_unit, &QComboBox::activated, this,
        [this](int row) { Q_EMIT unitChosen(UnitId{m_unit->itemData(row).toUInt()}); });
    connect(m_state, &QComboBox::activated, this,
        [this](int row) { Q_EMIT stateChosen(static_cast<uint32_t>(row)); });
    connect(m_projection, &QComboBox::activated, this, [this](int row) {
        Q_EMIT projectionChosen(static_cast<MapQuery::Projection>(m_projection->itemData(row).toInt()));
    });
    connect(m_mode, &QComboBox::activated, this,
        [this](int row) { Q_EMIT modeChosen(static_cast<MapColourMode>(m_mode->itemData(row).toInt())); });
    connect(fit, &QToolButton::clicked, this, &MapHeader::fitRequested);
}

void MapHeader::setCheckpoint(const CheckpointPtr& checkpoint)
{
    m_checkpoint = checkpoint;
    const QSignalBlocker blocker(m_unit);
    m_unit->clear();
    m_state->clear();
    if (checkpoint) {
        for (uint32_t i = 0; i < checkpoint->units.size(); ++i) {
            m_unit->addItem(MapText::unitName(*checkpoint, UnitId{i}), i);
        }
    }
}

void MapHeader::setComparable(bool comparable)
{
    const QSignalBlocker blocker(m_mode);
    const int at = m_mode->findData(static_cast<int>(MapColourMode::Difference));
    if (comparable && at < 0) {
        m_mode->addItem(
            MapText::modeName(MapColourMode::Difference), static_cast<int>(MapColourMode::Difference));
    } else if (!comparable && at >= 0) {
        m_mode->removeItem(at);
    }
}

void MapHeader::fillStates(UnitId unit)
{
    const QSignalBlocker blocker(m_state);
    m_state->clear();
    for (const auto& state : m_checkpoint->units[index(unit)].states) {
        m_state->addItem(QString::fromStdString(toValidUtf8(state.name)));
    }
}

void MapHeader::show(UnitId unit, uint32_t state, MapQuery::Projection projection, MapColourMode mode)
{
    if (m_checkpoint && unit != kNoUnit) {
        m_unit->setCurrentIndex(m_unit->findData(index(unit)));
        fillStates(unit);
        m_state->setCurrentIndex(static_cast<int>(state));
    }
    m_projection->setCurrentIndex(m_projection->findData(static_cast<int>(projection)));
    m_mode->setCurrentIndex(m_mode->findData(static_cast<int>(mode)));
}

} // namespace shardscope::ui
