// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/tensor_page.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/compute/compute_choice.h"
#include "core/layout/fragments.h"
#include "ui/pages/tensor_words.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/slice_bar.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/tensorview/tensor_pictures.h"
#include "ui/text/progress_text.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QLabel>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kExactElements = uint64_t{4} << 20; ///< max elements for automatic exact reads
constexpr int kNarrow = 620; ///< below this width in pixels, values are above pictures

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
    return TensorFindings{std::move(*out), reportOf(compute), {}, {}};
}

} // namespace

PageEntry TensorPage::entry()
{
    return {PageId::Tensor, u"tensor"_s, u"actionTensor"_s, tr("Tensor"), tr("&Tensor"), u"tensor"_s,
        u"concepts"_s, &makePage<TensorPage>};
}

TensorPage::TensorPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_pages(context.session.files())
    , m_empty(makeEmpty(u"tensorEmpty"_s))
{
    setObjectName(u"tensorPage"_s);
    m_empty->setFocusPolicy(Qt::TabFocus);
    m_splitter = new QSplitter(Qt::Horizontal, this);
    m_splitter->setObjectName(u"tensorSplitter"_s);
    m_splitter->setChildrenCollapsible(true);
    m_splitter->addWidget(makeValues());
    m_pictures = new TensorPictures(context.session.files(), context.theme, m_cursor, m_splitter);
    m_splitter->addWidget(m_pictures);
    m_splitter->setStretchFactor(0, 1);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({1000, 1000});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeHead());
    rows->addWidget(m_splitter, 1);
    rows->addWidget(m_empty, 1);
    connect(&context.selection, &Selection::changed, this, &TensorPage::follow);
    connect(m_states, &QTabBar::currentChanged, this, &TensorPage::showState);
    connect(m_bar, &SliceBar::sliceChosen, this, &TensorPage::showSlice);
    connect(m_bar, &SliceBar::formatChosen, m_grid, &TensorGrid::setFormat);
    connect(m_grid, &TensorGrid::selectionChanged, m_selected, &QLabel::setText);
    connect(&m_cursor, &ElementCursor::changed, this, &TensorPage::showCursor);
    connect(&m_pages, &TensorPages::arrived, this, [this] {
        showCursor();
        if (m_copyWaits)
            copyValues();
    });
    connect(m_pictures, &TensorPictures::cellDescribed, &context.selection, &Selection::setHoverText);
    connect(m_pictures, &TensorPictures::centreRequested, this, &TensorPage::centreGrid);
    connect(m_pictures, &TensorPictures::exactRequested, this, [this] { findOut(true); });
    connect(m_pictures, &TensorPictures::cancelRequested, this, [this] {
        m_statistics.cancel();
        m_progress.clear();
        showFindings();
    });
    showParam();
}

QWidget* TensorPage::makeHead()
{
    auto* head = new QWidget(this);
    m_name = new ElidedLabel(head);
    m_name->setObjectName(u"tensorName"_s);
    QFont font = m_name->font();
    font.setPointSizeF(font.pointSizeF() * 1.15);
    font.setBold(true);
    m_name->setFont(font);
    m_states = new QTabBar(head);
    m_states->setObjectName(u"tensorStates"_s);
    m_states->setAccessibleName(tr("States"));
    m_states->setDrawBase(false);
    m_states->setExpanding(false);
    m_facts = new QLabel(head);
    m_facts->setObjectName(u"tensorFacts"_s);
    m_facts->setForegroundRole(QPalette::PlaceholderText);
    m_health = new QLabel(head);
    m_health->setObjectName(u"tensorHealth"_s);
    for (QLabel* label : {m_facts, m_health}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
    }
    auto* first = new QHBoxLayout;
    first->setSpacing(12);
    first->addWidget(m_name, 1);
    first->addWidget(m_states, 0, Qt::AlignBottom);
    auto* rows = new QVBoxLayout(head);
    rows->setContentsMargins(12, 8, 12, 6);
    rows->setSpacing(3);
    rows->addLayout(first);
    rows->addWidget(m_facts);
    rows->addWidget(m_health);
    return head;
}

QWidget* TensorPage::makeValues()
{
    auto* values = new QWidget(m_splitter);
    m_bar = new SliceBar(values);
    m_tabs = new QTabWidget(values);
    m_tabs->setObjectName(u"tensorViews"_s);
    m_tabs->setDocumentMode(true);
    m_tabs->setTabPosition(QTabWidget::South);
    m_tabs->tabBar()->setAccessibleName(tr("Values or bytes"));
    m_grid = new TensorGrid(m_context.theme, m_pages, m_cursor, m_tabs);
    m_hex = new HexView(m_context.theme, m_pages, m_cursor, m_tabs);
    m_tabs->addTab(m_grid, tr("Values"));
    m_tabs->addTab(m_hex, tr("Bytes"));
    m_value = new ElidedLabel(values);
    m_value->setObjectName(u"tensorValue"_s);
    m_where = new ElidedLabel(values);
    m_where->setForegroundRole(QPalette::PlaceholderText);
    m_where->setObjectName(u"tensorWhere"_s);
    m_selected = new QLabel(values);
    m_selected->setObjectName(u"tensorSelected"_s);
    auto* first = new QHBoxLayout;
    first->addWidget(m_value, 1);
    first->addWidget(m_selected);
    auto* foot = new QVBoxLayout;
    foot->setContentsMargins(12, 4, 8, 6);
    foot->setSpacing(2);
    foot->addLayout(first);
    foot->addWidget(m_where);
    auto* rows = new QVBoxLayout(values);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_bar);
    rows->addWidget(m_tabs, 1);
    rows->addLayout(foot);
    for (QWidget* view : {static_cast<QWidget*>(m_grid), static_cast<QWidget*>(m_hex)})
        addActions(view);
    return values;
}

void TensorPage::addActions(QWidget* view)
{
    view->setContextMenuPolicy(Qt::ActionsContextMenu);
    const auto add = [&](const QString& text, auto call) {
        auto* action = new QAction(text, view);
        connect(action, &QAction::triggered, this, [this, call] {
            if (m_source)
                call();
        });
        view->addAction(action);
        return action;
    };
    QAction* copy = add(tr("Copy"), [this] { copyValues(); });
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    add(tr("Copy Index"), [this] { copyText(m_source->indexText(m_cursor.element())); });
    add(tr("Copy Address"), [this] { copyText(elementAddress(*m_source, m_cursor.element())); });
    add(tr("Copy Command Line"), [this] { copyText(showCommand(*m_source, m_place, m_cursor.element())); });
    add(tr("Show on the Partition Map"), [this] { Q_EMIT m_context.selection.pageRequested(PageId::Map); });
}

void TensorPage::showCheckpoint()
{
    m_param = kNoParam;
    showParam();
}

bool TensorPage::isBusy() const
{
    return isVisible()
        && (m_stale || m_statistics.isRunning() || m_pictures->isBusy() || m_pages.isReading());
}

void TensorPage::follow(const SelectedThing& thing)
{
    if (!m_checkpoint || thing.param == kNoParam || index(thing.param) >= m_checkpoint->params.size())
        return;
    m_element = thing.element;
    const bool sameState = thing.state.empty() || thing.state == m_state;
    if (thing.param == m_param && sameState) {
        if (isVisible())
            goToElement();
        return;
    }
    m_param = thing.param;
    if (!thing.state.empty())
        m_state = thing.state;
    m_stale = !isVisible();
    if (!m_stale)
        showParam();
}

void TensorPage::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (std::exchange(m_stale, false))
        showParam();
    else
        goToElement();
}

void TensorPage::goToElement()
{
    const auto element = std::exchange(m_element, std::nullopt);
    if (!element || !m_source || !m_pages.source() || *element >= m_source->elements)
        return;
    m_cursor.set(*element);
    showCursor();
    m_grid->centreCursor();
}

void TensorPage::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_splitter->setOrientation(width() < kNarrow ? Qt::Vertical : Qt::Horizontal);
}

void TensorPage::showParam()
{
    m_filling = true;
    while (m_states->count() > 0)
        m_states->removeTab(0);
    int wanted = 0;
    if (m_checkpoint && m_param != kNoParam) {
        for (const std::string& state : statesOf(*m_checkpoint, m_param)) {
            const int tab = m_states->addTab(toText(state));
            m_states->setTabData(tab, QByteArray::fromStdString(state));
            if (state == m_state)
                wanted = tab;
        }
    }
    m_states->setCurrentIndex(wanted);
    m_filling = false;
    showState(wanted);
    goToElement();
}

void TensorPage::showState(int tab)
{
    if (m_filling)
        return;
    const std::string state = m_states->tabData(tab).toByteArray().toStdString();
    m_source
        = m_checkpoint && m_param != kNoParam ? TensorSource::make(m_checkpoint, m_param, state) : nullptr;
    if (m_source)
        m_state = state;
    const bool known = m_source && m_source->dtype != DType::Unknown;
    m_splitter->setVisible(known);
    m_empty->setVisible(!known);
    setFocusProxy(known ? static_cast<QWidget*>(m_grid) : m_empty); // a key that brings the page must land
    m_states->setVisible(m_states->count() > 0);
    m_facts->setVisible(m_source != nullptr);
    m_name->setText(m_source ? toText(m_source->name) : QString());
    m_facts->setText(m_source ? tensorFacts(*m_source) : QString());
    m_empty->setText(!m_checkpoint ? tr("Open a checkpoint to see its values.")
            : m_source             ? tr("Values of this dtype are not known to this build.")
            : m_param == kNoParam  ? tr("Select a parameter to see its values (Ctrl+P finds one).")
                                   : tr("No state of this parameter is stored here."));
    m_statistics.cancel();
    m_findings.reset();
    m_progress.clear();
    m_copyWaits = false;
    m_pages.setSource(known ? m_source : nullptr);
    m_cursor.set(0);
    showSlice(TensorSlice(known ? m_source->shape : Shape{0}));
    m_hex->reset();
    showFindings();
    if (known)
        findOut(m_source->elements <= kExactElements);
}

void TensorPage::showSlice(const TensorSlice& slice)
{
    // The cursor moves to the same cell of another slice, if that cell exists.
    std::optional<uint64_t> element;
    if (!slice.cellOf(m_cursor.element()))
        element = slice.elementAt(m_grid->slice().cellOf(m_cursor.element()).value_or(TensorSlice::Cell{}));
    if (!element && !slice.cellOf(m_cursor.element()))
        element = slice.elementAt({0, 0});
    m_bar->setSlice(slice);
    m_grid->setSlice(slice);
    if (element)
        m_cursor.set(*element);
    m_pictures->setSlice(m_pages.source(), slice);
    showCursor();
}

void TensorPage::findOut(bool exact)
{
    m_progress = tr("Reading…");
    showFindings();
    const bool sampleFirst = !m_findings;
    m_statistics.run<Stage>(
        [&files = m_context.session.files(), source = m_source, exact, sampleFirst](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext quiet(token);
            JobContext job(token, [&deliver](const Progress& progress) {
                deliver({{}, progressFacts(progress).join(u" · "_s)});
            });
            std::optional<TensorFindings> last;
            for (const bool all : {false, true}) {
                if ((all && (!exact || (last && last->statistics.exact))) || (!all && !sampleFirst && exact))
                    continue;
                auto found = statisticsOf(files, *source, all, all ? job : quiet);
                if (token.stop_requested())
                    return;
                if (!found)
                    return deliver({TensorFindings{{}, {}, {}, std::move(found).error()}, {}});
                last = std::move(*found);
                const bool goesOn = exact && !last->statistics.exact;
                deliver({*last, goesOn ? tr("Reading…") : QString()});
            }
            if (!last)
                return;
            const Statistics& numbers = last->statistics.found;
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

void TensorPage::showFindings()
{
    m_pictures->setFindings(m_findings, m_progress);
    const bool skeleton = m_source && isSkeleton(*m_source->checkpoint);
    const QStringList words = skeleton ? QStringList{tr("This is a skeleton: it holds no values")}
        : m_source && m_findings && !m_findings->error ? healthWords(*m_source, *m_findings)
                                                       : QStringList();
    m_health->setText(words.isEmpty() ? QString() : QString(u"⚠  "_s % words.join(u" · "_s)));
    m_health->setVisible(!words.isEmpty());
}

void TensorPage::showCursor()
{
    const QString words = m_pages.source() ? elementWords(m_pages, m_cursor.element()) : QString();
    m_value->setText(words);
    m_pictures->setCursorText(words);
    m_where->setText(m_pages.source() ? placeWords(*m_pages.source(), m_cursor.element()) : QString());
    // An element of another slice was chosen among the bytes: the grid goes there.
    if (m_pages.source() && m_pages.source()->elements > 0 && !m_grid->slice().cellOf(m_cursor.element())) {
        TensorSlice slice = m_grid->slice();
        slice.showElement(m_cursor.element());
        showSlice(slice);
    }
}

void TensorPage::centreGrid()
{
    m_tabs->setCurrentWidget(m_grid);
    m_grid->centreCursor();
}

void TensorPage::copyValues()
{
    const QString text
        = m_tabs->currentWidget() == m_grid ? m_grid->selectedText() : m_hex->elementText(m_cursor.element());
    m_copyWaits = text.contains(u'…');
    if (!m_copyWaits)
        copyText(text);
}

} // namespace shardscope::ui
