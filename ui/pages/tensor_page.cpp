// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/tensor_page.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "ui/session/check_run.h"
#include "ui/session/far_answers.h"
#include "ui/session/shell_words.h"
#include "ui/tensorview/array_saver.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/number_format.h"
#include "ui/tensorview/slice_bar.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/tensorview/tensor_head.h"
#include "ui/tensorview/tensor_pages.h"
#include "ui/tensorview/tensor_pictures.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"
#include "ui/widgets/actions_menu.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QLabel>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include <QApplication>
#include <QClipboard>
#include <QString>
#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// "[3, 17] = 0.25  (0x3e800000)": one element, its value with all digits once it is read.
QString elementWords(TensorPages& pages, uint64_t element)
{
    const TensorSource& source = *pages.source();
    if (source.elements == 0)
        return u"This tensor has no elements."_s;
    const uint8_t* bytes = nullptr;
    QString value;
    switch (pages.element(element, &bytes)) {
    case TensorPages::Known::NotYet:
        value = u"…"_s;
        break;
    case TensorPages::Known::Missing:
        value = lossText(*source.checkpoint, source.param, source.state, element);
        break;
    case TensorPages::Known::Here:
        value = valueText(source.dtype, bytes, {NumberForm::Exact, 0}) % u"  (0x"_s
            % valueText(source.dtype, bytes, {NumberForm::Hex, 0}) % u')';
        break;
    }
    return source.indexText(element) % u" = "_s % value;
}

/// "dp0.tp0.pp0 · FILE, byte 512": its place.
QString placeWords(const TensorSource& source, uint64_t element)
{
    if (source.elements == 0)
        return {};
    QStringList facts;
    const auto place = locate(*source.checkpoint,
        ParamAddress{source.checkpoint->params[index(source.param)].name, source.state,
            std::pair(element, element + 1)});
    if (place && place->flat)
        facts.append(rankLabel(*source.checkpoint, place->flat->rank));
    if (place && place->file)
        facts.append(u"%1, byte %2"_s.arg(toText(place->file->path), countText(place->fileByte)));
    return facts.join(u" · "_s);
}

QString elementAddress(const TensorSource& source, uint64_t element)
{
    return QString::fromStdString(source.address(element, element + 1));
}

/// The same element as a command line of `shardscope`, quoted for a shell.
QString showCommand(const TensorSource& source, const CheckPlace& place, uint64_t element)
{
    return ShellCommand(u"show"_s, sourceWords(*source.checkpoint, place))
        .argument(elementAddress(source, element))
        .text();
}

void copyText(const QString& text)
{
    QApplication::clipboard()->setText(text);
}

const QString kSliceAction = u"actionSaveSlice"_s;
constexpr int kNarrow = 620; ///< below this width in pixels, values are above pictures

/// Exact statistics of a tensor on another host are computed there.
TensorPictures::ComputeElsewhere elsewhereOf(Session& session)
{
    const CheckPlace place = session.place();
    const std::string host = hostOf(place);
    if (host.empty())
        return {};
    return [&files = session.files(), place, host](
               const TensorSource& source, JobContext& job) -> Result<TensorFindings> {
        TensorFindings out;
        SHARDSCOPE_TRY(out.statistics,
            exactStatisticsThere({files, place, *source.checkpoint}, {source.param, source.state}, job));
        out.compute.device = TensorPage::tr("computed on %1").arg(toText(host)).toStdString();
        return out;
    };
}

} // namespace

PageEntry TensorPage::entry()
{
    return {PageId::Tensor, u"tensor"_s, u"actionTensor"_s, tr("Tensor"), tr("&Tensor"), u"tensor"_s,
        u"concepts"_s, &makePage<TensorPage>,
        {{PageAction::Menu::File, u"actionSaveArray"_s, tr("Save Array of the &Tensor…"),
             {Qt::CTRL | Qt::SHIFT | Qt::Key_A}, {}, true,
             [](Page& page) { static_cast<TensorPage&>(page).askWhereToSave(false); }},
            {PageAction::Menu::File, kSliceAction, tr("Save Shown Sl&ice of the Tensor…"), {}, {}, true,
                [](Page& page) { static_cast<TensorPage&>(page).askWhereToSave(true); }}}};
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
    m_pictures = new TensorPictures(context.session.files(), context.theme, m_cursor, this);
    m_splitter->addWidget(scrolled(m_pictures, m_splitter, QSize(200, 60)));
    m_splitter->setStretchFactor(0, 1);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({1000, 1000});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    m_head = new TensorHead(this);
    m_saver = new ArraySaver(context.session.files(), this);
    rows->addWidget(m_head);
    rows->addWidget(m_splitter, 1);
    rows->addWidget(m_saver);
    rows->addWidget(m_empty, 1);
    connect(&context.selection, &Selection::changed, this, &TensorPage::follow);
    connect(m_head->states(), &QTabBar::currentChanged, this, &TensorPage::showState);
    connect(m_bar, &SliceBar::sliceChosen, this, &TensorPage::showSlice);
    connect(m_bar, &SliceBar::saveRequested, this, &TensorPage::askWhereToSave);
    connect(m_saver, &ArraySaver::told, this, &TensorPage::told);
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
    connect(m_pictures, &TensorPictures::findingsChanged, this, &TensorPage::showHealth);
    showParam();
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
    m_value->setWraps(true); // to the last digit
    m_where = new ElidedLabel(values);
    m_where->setForegroundRole(QPalette::PlaceholderText);
    m_where->setObjectName(u"tensorWhere"_s);
    m_where->setWraps(true); // the ranks are in the name of the file
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
    showActionsInMenu(view);
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
    add(tr("Save Array…"), [this] { askWhereToSave(false); });
    add(tr("Show on the Partition Map"), [this] { Q_EMIT m_context.selection.pageRequested(PageId::Map); });
}

void TensorPage::showCheckpoint()
{
    m_param = kNoParam;
    showParam();
}

bool TensorPage::isBusy() const
{
    return m_saver->isRunning()
        || (isVisible() && (m_stale || m_head->isBusy() || m_pictures->isBusy() || m_pages.isReading()));
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
    const bool isShown = m_checkpoint && m_param != kNoParam;
    m_head->setStates(isShown ? statesOf(*m_checkpoint, m_param) : std::vector<std::string>(), m_state);
    showState();
    goToElement();
}

void TensorPage::showState()
{
    const std::string state = m_head->state();
    m_source
        = m_checkpoint && m_param != kNoParam ? TensorSource::make(m_checkpoint, m_param, state) : nullptr;
    if (m_source)
        m_state = state;
    const bool known = m_source && m_source->dtype != DType::Unknown;
    m_splitter->setVisible(known);
    m_empty->setVisible(!known);
    handFocusTo(
        this, known ? static_cast<QWidget*>(m_grid) : m_empty); // a key that brings the page must land
    m_head->setSource(m_source);
    m_empty->setText(!m_checkpoint ? tr("Open a checkpoint to see its values.")
            : m_source             ? tr("Values of this dtype are not known to this build.")
            : m_param == kNoParam  ? tr("Select a parameter to see its values (Ctrl+P finds one).")
                                   : tr("No state of this parameter is stored here."));
    m_copyWaits = false;
    m_pages.setSource(known ? m_source : nullptr);
    m_cursor.set(0);
    showSlice(TensorSlice(known ? m_source->shape : Shape{0}));
    m_hex->reset();
    m_pictures->setSource(m_pages.source(), elsewhereOf(m_context.session));
    Q_EMIT actionsChanged();
}

bool TensorPage::canRun(const PageAction& action) const
{
    return m_pages.source() && (action.name != kSliceAction || m_grid->slice().shape().size() > 2);
}

void TensorPage::askWhereToSave(bool slice)
{
    if (!m_pages.source())
        return;
    ArrayWish wish{m_pages.source(), {}};
    if (slice)
        wish.slice = m_grid->slice();
    const QString name = wish.fileName();
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"saveArrayDialog"_s,
            .title
            = slice ? tr("Save the Shown Slice as a NumPy Array") : tr("Save the Tensor as a NumPy Array"),
            .filters = tr("NumPy array (*.npy)"),
            .suggested = name},
        [this, wish = std::move(wish)](const QString& path) { saveArray(wish, path); });
}

void TensorPage::saveArray(const ArrayWish& wish, const QString& path)
{
    m_saver->save(wish, {path, readAt(m_place)});
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

void TensorPage::showHealth()
{
    const std::optional<TensorFindings>& found = m_pictures->findings();
    const bool skeleton = m_source && isSkeleton(*m_source->checkpoint);
    const bool known = m_source && found && !found->error;
    m_head->setHealth(skeleton ? QStringList{tr("This is a skeleton: it holds no values")}
            : known            ? healthWords(*m_source, *found)
                               : QStringList());
    m_head->setCopies(known && !skeleton ? found->copies : QString());
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
