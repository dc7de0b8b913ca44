// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_pictures.h"

#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/statistics_panel.h"

#include <QCheckBox>
#include <QLabel>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

TensorPictures::TensorPictures(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent)
    : QWidget(parent)
    , m_heat(new HeatMap(files, theme, cursor, this))
    , m_histogram(new HistogramView(theme, this))
    , m_statistics(new StatisticsPanel(theme, this))
    , m_symmetric(
          addSwitch(u"heatSymmetric"_s, tr("S&ymmetric"), tr("The colour range is symmetric around zero")))
    , m_logColours(
          addSwitch(u"heatLog"_s, tr("&Log colours"), tr("Colours follow the magnitude, over six decades")))
    , m_logCounts(
          addSwitch(u"histogramLog"_s, tr("Log c&ounts"), tr("Heights follow the logarithm of counts")))
    , m_byExponent(
          addSwitch(u"histogramExponent"_s, tr("By e&xponent"), tr("One bar for every power of two")))
    , m_sampled(new QLabel(this))
{
    setObjectName(u"tensorPictures"_s);
    m_symmetric->setChecked(true);
    m_sampled->setObjectName(u"heatSampled"_s);
    m_sampled->setForegroundRole(QPalette::PlaceholderText);
    const auto line = [this](const QList<QWidget*>& widgets) {
        auto* row = new QHBoxLayout;
        row->setSpacing(12);
        for (QWidget* widget : widgets)
            row->addWidget(widget);
        row->addStretch(1);
        return row;
    };
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(10, 6, 10, 6);
    rows->setSpacing(5);
    rows->addLayout(line({m_symmetric, m_logColours, m_sampled}));
    rows->addWidget(m_heat, 5);
    rows->addSpacing(4);
    rows->addLayout(line({m_logCounts, m_byExponent}));
    rows->addWidget(m_histogram, 3);
    rows->addWidget(m_statistics);
    connect(m_symmetric, &QCheckBox::toggled, m_heat, &HeatMap::setSymmetric);
    connect(m_symmetric, &QCheckBox::clicked, this, [this] { m_symmetryIsOurs = false; });
    connect(m_logColours, &QCheckBox::toggled, m_heat, &HeatMap::setLogarithmic);
    connect(m_logCounts, &QCheckBox::toggled, m_histogram, &HistogramView::setLogarithmic);
    connect(m_byExponent, &QCheckBox::toggled, m_histogram, &HistogramView::setByExponent);
    connect(m_histogram, &HistogramView::brushChanged, this,
        [this] { m_heat->setRange(m_histogram->brushed()); });
    connect(m_heat, &HeatMap::arrived, this, &TensorPictures::showRange);
    connect(m_heat, &HeatMap::cellDescribed, this, &TensorPictures::cellDescribed);
    connect(m_heat, &HeatMap::centreRequested, this, &TensorPictures::centreRequested);
    connect(m_statistics, &StatisticsPanel::exactRequested, this, &TensorPictures::exactRequested);
    connect(m_statistics, &StatisticsPanel::cancelRequested, this, &TensorPictures::cancelRequested);
}

QCheckBox* TensorPictures::addSwitch(const QString& name, const QString& text, const QString& tip)
{
    auto* box = new QCheckBox(text, this);
    box->setObjectName(name);
    box->setToolTip(tip);
    return box;
}

void TensorPictures::setSlice(const TensorSourcePtr& source, const TensorSlice& slice)
{
    m_heat->setSlice(source, slice);
    showRange();
}

void TensorPictures::setCursorText(const QString& text)
{
    m_heat->setCursorText(text);
}

void TensorPictures::setFindings(const std::optional<TensorFindings>& findings, const QString& progress)
{
    m_histogram->setStatistics(
        findings && !findings->error ? std::optional(findings->statistics) : std::nullopt);
    m_statistics->show(findings, progress);
}

void TensorPictures::showRange()
{
    const HeatSamples& samples = m_heat->samples();
    if (m_symmetryIsOurs && samples.anyFinite)
        m_symmetric->setChecked(samples.low < 0);
    m_sampled->setText(samples.sampled ? tr("≈ every few elements") : QString());
}

bool TensorPictures::isBusy() const
{
    return m_heat->isBusy();
}

} // namespace shardscope::ui
