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

constexpr int kFiles = -1; ///< data of its entry; the others' is their projection

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
    m_unit = addChoice(
        layout, tr("&Show"), QStringLiteral("mapUnit"), tr("Everything, or one group or sub-group"));
    m_unit->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_unit->setMinimumContentsLength(18);
    m_state = addChoice(
        layout, tr("S&tate"), QStringLiteral("mapState"), tr("Master weights or an optimizer state"));
    m_projection = addChoice(layout, tr("&Rows"), QStringLiteral("mapProjection"),
        tr("One row per rank, all ranks as one line, or one row per file (U)"));
    m_projection->addItem(tr("Partitions"), static_cast<int>(MapQuery::Projection::Partitions));
    m_projection->addItem(tr("Unrolled"), static_cast<int>(MapQuery::Projection::Unrolled));
    m_projection->addItem(tr("Files"), kFiles);
    m_mode = addChoice(layout, tr("&Colour"), QStringLiteral("mapColourMode"), tr("What the colours mean"));
    for (const auto mode : kMapColourModes) {
        m_mode->addItem(MapText::modeName(mode), static_cast<int>(mode));
    }
    auto* fit = new QToolButton(this);
    fit->setObjectName(QStringLiteral("mapFit"));
    fit->setText(tr("Fit"));
    fit->setToolTip(tr("Show the whole map (0)"));
    layout->addWidget(fit);

    connect(m_unit, &QComboBox::activated, this, [this](int row) {
        Q_EMIT sectionChosen(row == 0 ? std::nullopt : std::optional(static_cast<uint32_t>(row - 1)));
    });
    connect(m_state, &QComboBox::activated, this,
        [this](int row) { Q_EMIT stateChosen(m_state->itemText(row)); });
    connect(m_projection, &QComboBox::activated, this, [this](int row) {
        const int chosen = m_projection->itemData(row).toInt();
        if (chosen == kFiles) {
            Q_EMIT filesChosen();
        } else {
            Q_EMIT projectionChosen(static_cast<MapQuery::Projection>(chosen));
        }
    });
    connect(m_mode, &QComboBox::activated, this,
        [this](int row) { Q_EMIT modeChosen(static_cast<MapColourMode>(m_mode->itemData(row).toInt())); });
    connect(fit, &QToolButton::clicked, this, &MapHeader::fitRequested);
}

void MapHeader::setChoices(const CheckpointPtr& checkpoint, const std::vector<MapSectionContent>& sections,
    const std::vector<std::string>& states)
{
    const QSignalBlocker unitBlocker(m_unit);
    const QSignalBlocker stateBlocker(m_state);
    m_unit->clear();
    m_state->clear();
    if (!checkpoint) {
        return;
    }
    m_unit->addItem(tr("Everything"));
    for (const MapSectionContent& content : sections) {
        m_unit->addItem(MapText::sectionName(*checkpoint, content));
    }
    for (const std::string& state : states) {
        m_state->addItem(QString::fromStdString(toValidUtf8(state)));
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

void MapHeader::show(const MapSubject& subject, MapColourMode mode)
{
    for (QComboBox* box : {m_unit, m_state, m_mode}) {
        box->setEnabled(!subject.files); // all states of all units are shown, each in its colour
    }
    m_unit->setCurrentIndex(subject.section ? static_cast<int>(*subject.section) + 1 : 0);
    m_state->setCurrentText(QString::fromStdString(toValidUtf8(subject.state)));
    m_projection->setCurrentIndex(
        m_projection->findData(subject.files ? kFiles : static_cast<int>(subject.projection)));
    m_mode->setCurrentIndex(m_mode->findData(static_cast<int>(mode)));
}

} // namespace shardscope::ui
