// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/tensor_pictures.h"

#include "core/compute/compute_choice.h"
#include "ui/tensorview/heat_map.h"
#include "ui/tensorview/histogram_view.h"
#include "ui/tensorview/line_chart.h"
#include "ui/tensorview/statistics_panel.h"
#include "ui/text/progress_text.h"

#include <QCheckBox>
#include <QLabel>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kExactElements = uint64_t{4} << 20; ///< max elements for automatic exact reads
constexpr unsigned kJobs = 2;

/// The backend of one tensor's statistics. A sample needs little computing.
Result<ComputeChoice> computeFor(io::FileSystem& files, const TensorSource& source, bool exact)
{
    return chooseCompute(
        {}, {ComputeTask::Statistics, exact ? source.bytes() : 0, kJobs}, files, userRateMemory());
}

Result<TensorFindings> statisticsOf(
    io::FileSystem& files, const TensorSource& source, bool exact, JobContext& job)
{
    SHARDSCOPE_TRY(const ComputeChoice compute, computeFor(files, source, exact));
    std::optional<TensorStatistics> out;
    const std::vector<TensorAsked> tensors{{source.param, source.state}};
    SHARDSCOPE_CHECK(computeStatistics(files, {*source.checkpoint, tensors, exact}, {kJobs, *compute.backend},
        job, [&](TensorStatistics statistics) -> Status {
            out = std::move(statistics);
            return {};
        }));
    if (!out)
        return fail(ErrorCode::Internal, "no statistics were made");
    return TensorFindings{std::move(*out), reportOf(compute), {}, {}, {}};
}

} // namespace

TensorPictures::TensorPictures(io::FileSystem& files, Theme& theme, ElementCursor& cursor, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_heat(new HeatMap(files, theme, cursor, this))
    , m_line(new LineChart(files, theme, cursor, this))
    , m_histogram(new HistogramView(theme, this))
    , m_statistics(new StatisticsPanel(theme, this))
    , m_symmetric(addSwitch(u"heatSymmetric"_s, tr("S&ymmetric"), tr("The range is symmetric around zero")))
    , m_logScale(addSwitch(
          u"heatLog"_s, tr("&Log scale"), tr("Colours and heights follow the magnitude, over six decades")))
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
    rows->addLayout(line({m_symmetric, m_logScale, m_sampled}));
    rows->addWidget(m_heat, 5);
    rows->addWidget(m_line, 5);
    m_line->hide();
    rows->addSpacing(4);
    rows->addLayout(line({m_logCounts, m_byExponent}));
    rows->addWidget(m_histogram, 3);
    rows->addWidget(m_statistics);
    connect(m_symmetric, &QCheckBox::toggled, m_heat, &HeatMap::setSymmetric);
    connect(m_symmetric, &QCheckBox::toggled, m_line, &LineChart::setSymmetric);
    connect(m_symmetric, &QCheckBox::clicked, this, [this] { m_symmetryIsOurs = false; });
    connect(m_logScale, &QCheckBox::toggled, m_heat, &HeatMap::setLogarithmic);
    connect(m_logScale, &QCheckBox::toggled, m_line, &LineChart::setLogarithmic);
    connect(m_logCounts, &QCheckBox::toggled, m_histogram, &HistogramView::setLogarithmic);
    connect(m_byExponent, &QCheckBox::toggled, m_histogram, &HistogramView::setByExponent);
    connect(m_histogram, &HistogramView::brushChanged, this, [this] {
        m_heat->setRange(m_histogram->brushed());
        m_line->setRange(m_histogram->brushed());
    });
    connect(m_line, &LineChart::arrived, this, &TensorPictures::showRange);
    connect(m_line, &LineChart::cellDescribed, this, &TensorPictures::cellDescribed);
    connect(m_line, &LineChart::centreRequested, this, &TensorPictures::centreRequested);
    connect(m_heat, &HeatMap::arrived, this, &TensorPictures::showRange);
    connect(m_heat, &HeatMap::cellDescribed, this, &TensorPictures::cellDescribed);
    connect(m_heat, &HeatMap::centreRequested, this, &TensorPictures::centreRequested);
    connect(m_statistics, &StatisticsPanel::exactRequested, this, [this] { findOut(true); });
    connect(m_statistics, &StatisticsPanel::cancelRequested, this, [this] {
        m_reader.cancel();
        m_progress.clear();
        showFindings();
    });
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
    const bool isLine = slice.isWrapped();
    m_heat->setSlice(isLine ? nullptr : source, slice);
    if (!isLine || source != m_drawn)
        m_line->setSource(isLine ? source : nullptr);
    m_drawn = source;
    m_heat->setVisible(!isLine);
    m_line->setVisible(isLine);
    showRange();
}

void TensorPictures::setCursorText(const QString& text)
{
    m_heat->setCursorText(text);
    m_line->setCursorText(text);
}

void TensorPictures::setSource(const TensorSourcePtr& source, ComputeElsewhere elsewhere)
{
    m_reader.cancel();
    m_source = source;
    m_elsewhere = std::move(elsewhere);
    m_findings.reset();
    m_progress.clear();
    showFindings();
    if (source)
        findOut(source->elements <= kExactElements);
}

void TensorPictures::findOut(bool exact)
{
    m_progress = tr("Reading…");
    showFindings();
    const bool sampleFirst = !m_findings;
    m_reader.run<Stage>(
        [&files = m_files, source = m_source, elsewhere = m_elsewhere, exact, sampleFirst](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext quiet(token);
            JobContext job(token, [&deliver](const Progress& progress) {
                deliver({{}, progressFacts(progress).join(u" · "_s)});
            });
            std::optional<TensorFindings> last;
            for (const bool all : {false, true}) {
                if ((all && (!exact || (last && last->statistics.exact))) || (!all && !sampleFirst && exact))
                    continue;
                auto found = all && elsewhere ? elsewhere(*source, job)
                                              : statisticsOf(files, *source, all, all ? job : quiet);
                if (token.stop_requested())
                    return;
                if (!found)
                    return deliver({TensorFindings{{}, {}, {}, {}, std::move(found).error()}, {}});
                last = std::move(*found);
                const bool goesOn = exact && !last->statistics.exact;
                deliver({*last, goesOn ? tr("Reading…") : QString()});
            }
            if (!last)
                return;
            if (elsewhere && source->bytes() > TensorSource::kWholeFarBytes) {
                last->copies = notLookedFor(*source, last->statistics); // it would read all values here
                if (!last->copies.isEmpty() && !token.stop_requested())
                    deliver({std::move(*last), {}});
                return;
            }
            const Statistics& numbers = last->statistics.found;
            if (last->statistics.exact && source->elements > 0) { // else most of it was not read
                last->copies = compareCopies(files, *source, token);
                if (!last->copies.isEmpty() && !token.stop_requested())
                    deliver({*last, {}});
            }
            if (numbers.nans + numbers.infinities == 0)
                return;
            last->first = findFirstOdd(files, *source, numbers.nans > 0, numbers.infinities > 0, token);
            if (!token.stop_requested())
                deliver({std::move(*last), {}});
        },
        [this](Stage stage) {
            if (stage.findings)
                m_findings = std::move(stage.findings);
            m_progress = stage.progress;
            showFindings();
        });
}

void TensorPictures::showFindings()
{
    m_histogram->setStatistics(
        m_findings && !m_findings->error ? std::optional(m_findings->statistics) : std::nullopt);
    m_statistics->show(m_findings, m_progress);
    Q_EMIT findingsChanged();
}

void TensorPictures::showRange()
{
    const HeatSamples& heat = m_heat->samples();
    const LineSamples& line = m_line->samples();
    const bool isLine = m_line->isVisibleTo(this);
    if (m_symmetryIsOurs && isLine)
        m_symmetric->setChecked(false);
    else if (m_symmetryIsOurs && heat.anyFinite)
        m_symmetric->setChecked(heat.low < 0);
    m_sampled->setText((isLine ? line.sampled : heat.sampled) ? tr("≈ every few elements") : QString());
}

bool TensorPictures::isBusy() const
{
    return m_heat->isBusy() || m_line->isBusy() || m_reader.isRunning();
}

} // namespace shardscope::ui
