// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/tensor_page.h"

#include "core/checkpoint/folder/skeleton.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "ui/session/check_run.h"
#include "ui/session/shell_words.h"
#include "ui/tensorview/hex_view.h"
#include "ui/tensorview/number_format.h"
#include "ui/tensorview/slice_bar.h"
#include "ui/tensorview/tensor_grid.h"
#include "ui/tensorview/tensor_pages.h"
#include "ui/tensorview/tensor_pictures.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"
#include "ui/widgets/elided_label.h"
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

/// "float32 · (256, 64) · 16,384 elements · 64.0 KiB · group 0, in 2 pieces": the tensor and its storage.
QString tensorFacts(const TensorSource& source)
{
    const Checkpoint& checkpoint = *source.checkpoint;
    const Parameter& param = checkpoint.params[index(source.param)];
    QStringList facts{toText(dtypeName(source.dtype)), QString::fromStdString(shapeText(source.shape)),
        source.elements == 1 ? u"1 element"_s : u"%1 elements"_s.arg(countText(source.elements)),
        bytesText(source.bytes())};
    const bool isWhole = source.state == "weight" && checkpoint.wholeOf(source.param) != nullptr;
    if (isWhole)
        facts.append(u"whole in %1"_s.arg(checkpoint.wholeOf(source.param)->run.isPresent()
                ? toText(checkpoint.file(checkpoint.wholeOf(source.param)->run.file).name)
                : u"no file"_s));
    else if (const FlatUnit* unit = checkpoint.unitOf(source.param))
        facts.append(u"in %1"_s.arg(heldUnitText(checkpoint, *unit)));
    if (toText(param.name) != toText(source.name))
        facts.append(u"shared with %1"_s.arg(toText(param.name)));
    return facts.join(u" · "_s);
}

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

constexpr int kNarrow = 620; ///< below this width in pixels, values are above pictures

} // namespace

/// Name, states and facts of a parameter, and what is wrong with its values.
class TensorHead : public QWidget
{
public:
    explicit TensorHead(QWidget* parent)
        : QWidget(parent)
        , m_name(new ElidedLabel(this))
        , m_states(new QTabBar(this))
        , m_facts(new QLabel(this))
        , m_health(new QLabel(this))
    {
        m_name->setObjectName(u"tensorName"_s);
        QFont font = m_name->font();
        font.setPointSizeF(font.pointSizeF() * 1.15);
        font.setBold(true);
        m_name->setFont(font);
        m_states->setObjectName(u"tensorStates"_s);
        m_states->setAccessibleName(TensorPage::tr("States"));
        m_states->setDrawBase(false);
        m_states->setExpanding(false);
        m_facts->setObjectName(u"tensorFacts"_s);
        m_facts->setForegroundRole(QPalette::PlaceholderText);
        m_health->setObjectName(u"tensorHealth"_s);
        for (QLabel* label : {m_facts, m_health}) {
            label->setTextFormat(Qt::PlainText);
            label->setWordWrap(true);
        }
        auto* first = new QHBoxLayout;
        first->setSpacing(12);
        first->addWidget(m_name, 1);
        first->addWidget(m_states, 0, Qt::AlignBottom);
        auto* rows = new QVBoxLayout(this);
        rows->setContentsMargins(12, 8, 12, 6);
        rows->setSpacing(3);
        rows->addLayout(first);
        rows->addWidget(m_facts);
        rows->addWidget(m_health);
    }

    [[nodiscard]] QTabBar* states() const { return m_states; }
    [[nodiscard]] std::string state() const
    {
        return m_states->tabData(m_states->currentIndex()).toByteArray().toStdString();
    }
    /// Without signals. The first one is chosen if `wanted` is none of them.
    void setStates(const std::vector<std::string>& states, const std::string& wanted)
    {
        const QSignalBlocker blocker(m_states);
        while (m_states->count() > 0)
            m_states->removeTab(0);
        for (const std::string& state : states)
            m_states->setTabData(m_states->addTab(toText(state)), QByteArray::fromStdString(state));
        const auto at = std::find(states.begin(), states.end(), wanted);
        m_states->setCurrentIndex(at == states.end() ? 0 : static_cast<int>(at - states.begin()));
        m_states->setVisible(!states.empty());
    }
    void setSource(const TensorSourcePtr& source)
    {
        m_name->setText(source ? toText(source->name) : QString());
        m_facts->setText(source ? tensorFacts(*source) : QString());
        m_facts->setVisible(source != nullptr);
    }
    void setHealth(const QStringList& words)
    {
        m_health->setText(words.isEmpty() ? QString() : QString(u"⚠  "_s % words.join(u" · "_s)));
        m_health->setVisible(!words.isEmpty());
    }

private:
    ElidedLabel* m_name;
    QTabBar* m_states;
    QLabel* m_facts;
    QLabel* m_health;
};

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
    m_pictures = new TensorPictures(context.session.files(), context.theme, m_cursor, this);
    m_splitter->addWidget(scrolled(m_pictures, m_splitter, QSize(240, 100)));
    m_splitter->setStretchFactor(0, 1);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({1000, 1000});
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    m_head = new TensorHead(this);
    rows->addWidget(m_head);
    rows->addWidget(m_splitter, 1);
    rows->addWidget(m_empty, 1);
    connect(&context.selection, &Selection::changed, this, &TensorPage::follow);
    connect(m_head->states(), &QTabBar::currentChanged, this, &TensorPage::showState);
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
    return isVisible() && (m_stale || m_pictures->isBusy() || m_pages.isReading());
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
    setFocusProxy(known ? static_cast<QWidget*>(m_grid) : m_empty); // a key that brings the page must land
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
    m_pictures->setSource(m_pages.source());
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
    m_head->setHealth(skeleton                   ? QStringList{tr("This is a skeleton: it holds no values")}
            : m_source && found && !found->error ? healthWords(*m_source, *found)
                                                 : QStringList());
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
