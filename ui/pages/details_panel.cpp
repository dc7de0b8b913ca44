// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/details_panel.h"

#include "ui/controls/table_setup.h"
#include "ui/models/address_selection.h"
#include "ui/models/fragment_table_model.h"
#include "ui/models/model_roles.h"
#include "ui/session/findings/finding_store.h"
#include "ui/style/icons.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/link_button.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kNameWidth = 92;
constexpr int kLeastColumns = 2; ///< of the fragments: rank and elements

/// A name that may continue on another line after each of its parts: no letter of it is left out.
QString withBreaks(QString name)
{
    static const QRegularExpression end(u"([._/!#-])(?=\\w)"_s);
    return name.replace(end, u"\\1\u200B"_s);
}

} // namespace

DetailsPanel::DetailsPanel(Theme& theme, Selection& selection, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_selection(selection)
    , m_kind(new QLabel(this))
    , m_title(new QLabel(this))
    , m_copyTitle(new QToolButton(this))
    , m_scroll(new QScrollArea(this))
    , m_fragmentBox(new QWidget(this))
    , m_fragmentTitle(new QLabel(m_fragmentBox))
    , m_states(new QComboBox(m_fragmentBox))
    , m_fragments(new QTableView(m_fragmentBox))
    , m_fragmentModel(new FragmentTableModel(this))
{
    setObjectName(u"detailsPanel"_s);
    setMinimumWidth(200);
    m_kind->setObjectName(u"detailsKind"_s);
    m_fragmentTitle->setObjectName(u"fragmentTitle"_s);
    m_title->setObjectName(u"detailsTitle"_s);
    m_copyTitle->setObjectName(u"copyTitle"_s);
    m_copyTitle->setAutoRaise(true);
    m_copyTitle->setIconSize(QSize(14, 14));
    m_copyTitle->setIcon(themedIcon(theme, u"copy"_s, ThemeRole::MutedText));
    m_copyTitle->setToolTip(tr("Copy the name"));
    m_copyTitle->setAccessibleName(tr("Copy the name"));
    QFont large = m_title->font();
    large.setBold(true);
    m_title->setFont(large);
    m_title->setTextFormat(Qt::PlainText);
    m_title->setWordWrap(true);
    m_title->setMinimumWidth(1);
    m_scroll->setObjectName(u"detailsScroll"_s);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_states->setObjectName(u"detailsState"_s);
    m_states->setAccessibleName(tr("State whose fragments are listed"));
    prepareTable(m_fragments, theme, u"fragmentTable"_s, tr("Fragments per rank"));
    m_fragments->setModel(m_fragmentModel);
    m_fragments->horizontalHeader()->setStretchLastSection(true);
    makeLayout();
    connectWidgets();
    handFocusTo(this, m_scroll);
    applyTheme();
    showEmpty();
}

void DetailsPanel::makeLayout()
{
    auto* heading = new QHBoxLayout;
    heading->addWidget(m_fragmentTitle, 1);
    heading->addWidget(m_states);
    heading->setContentsMargins(12, 6, 12, 6);
    auto* fragmentRows = new QVBoxLayout(m_fragmentBox);
    fragmentRows->setContentsMargins(0, 0, 0, 0);
    fragmentRows->setSpacing(0);
    fragmentRows->addLayout(heading);
    fragmentRows->addWidget(m_fragments, 1);
    auto* head = new QVBoxLayout;
    head->setContentsMargins(12, 10, 6, 6);
    head->setSpacing(2);
    head->addWidget(m_kind);
    auto* name = new QHBoxLayout;
    name->addWidget(m_title, 1);
    name->addWidget(m_copyTitle, 0, Qt::AlignTop);
    head->addLayout(name);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addLayout(head);
    rows->addWidget(m_scroll, 3);
    rows->addWidget(m_fragmentBox, 2);
}

void DetailsPanel::connectWidgets()
{
    connect(m_copyTitle, &QToolButton::clicked, this,
        [this] { QApplication::clipboard()->setText(m_shown.title); });
    connect(&m_selection, &Selection::changed, this, &DetailsPanel::follow);
    connect(m_states, &QComboBox::activated, this, [this](int at) {
        SelectedThing thing = m_selection.current();
        thing.state = m_shown.states[static_cast<size_t>(at)];
        m_selection.select(std::move(thing));
    });
    connect(m_fragments->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_following && now.isValid())
                chooseFragment(now.row());
        });
    connect(&m_theme, &Theme::changed, this, &DetailsPanel::applyTheme);
}

QString DetailsPanel::title() const
{
    return m_shown.title;
}

void DetailsPanel::setCheckpoint(const CheckpointPtr& checkpoint)
{
    m_checkpoint = checkpoint;
    if (m_findings != nullptr)
        m_findings->follow(checkpoint);
    follow(m_selection.current());
}

void DetailsPanel::followFindings(const FindingStore& store)
{
    m_findings = &store.marker();
    connect(m_findings, &FindingMarker::changed, this, [this] { follow(m_selection.current()); });
    m_findings->follow(m_checkpoint);
}

bool DetailsPanel::isBusy() const
{
    return m_finder.isRunning() || (m_findings != nullptr && m_findings->isBusy());
}

void DetailsPanel::follow(const SelectedThing& thing)
{
    if (!m_checkpoint || thing.isEmpty()) {
        m_finder.cancel();
        showEmpty();
        return;
    }
    m_finder.run<Details>(
        [checkpoint = m_checkpoint, thing,
            places = m_findings != nullptr ? m_findings->of(m_checkpoint) : nullptr](
            const std::stop_token&, const std::function<void(Details)>& deliver) {
            deliver(detailsOf(*checkpoint, thing, places.get()));
        },
        [this](Details details) { show(std::move(details)); });
}

void DetailsPanel::showEmpty()
{
    m_shown = {};
    m_kind->setText(tr("Nothing selected"));
    m_title->setText({});
    m_title->hide();
    m_copyTitle->hide();
    delete m_scroll->takeWidget();
    auto* hint = new QLabel(m_checkpoint ? tr("Click a parameter, a rank, a file or a place on the map.")
                                         : tr("Open a checkpoint first."));
    hint->setObjectName(u"detailsHint"_s);
    hint->setWordWrap(true);
    hint->setAlignment(Qt::AlignTop);
    hint->setMargin(12);
    hint->setForegroundRole(QPalette::PlaceholderText);
    m_scroll->setWidget(hint);
    m_fragmentBox->hide();
    m_fragmentModel->setFragments(nullptr, {});
}

void DetailsPanel::show(Details details)
{
    m_shown = std::move(details);
    m_kind->setText(m_shown.kind);
    m_title->setText(withBreaks(m_shown.title));
    m_title->setAccessibleName(m_shown.title);
    m_title->show();
    m_copyTitle->show();
    delete m_scroll->takeWidget();
    auto* body = new QWidget;
    body->setObjectName(u"detailsBody"_s);
    auto* rows = new QVBoxLayout(body);
    rows->setContentsMargins(12, 2, 6, 10);
    rows->setSpacing(3);
    for (const DetailSection& section : std::as_const(m_shown.sections)) {
        if (section.title.isEmpty() && rows->count() > 0)
            rows->addSpacing(8);
        if (!section.title.isEmpty()) {
            auto* heading = new QLabel(section.title, body);
            QFont bold = heading->font();
            bold.setBold(true);
            heading->setFont(bold);
            rows->addSpacing(8);
            rows->addWidget(heading);
        }
        for (const DetailFact& fact : section.facts)
            addFact(rows, fact);
    }
    rows->addStretch();
    m_scroll->setWidget(body);

    m_states->clear();
    for (const std::string& state : m_shown.states)
        m_states->addItem(toText(state));
    m_states->setCurrentText(toText(m_shown.state));
    m_following = true;
    m_fragmentBox->setVisible(!m_shown.fragments.empty());
    m_fragmentTitle->setText(m_shown.hasMoreFragments
            ? tr("First %1 fragments").arg(countText(m_shown.fragments.size()))
            : m_shown.fragments.size() == 1 ? tr("1 fragment")
                                            : tr("%1 fragments").arg(countText(m_shown.fragments.size())));
    m_fragmentModel->setFragments(m_checkpoint, m_shown.fragments);
    const SelectedThing& thing = m_selection.current();
    for (size_t row = 0; thing.rank && row < m_shown.fragments.size(); ++row) {
        if (m_shown.fragments[row].unit == kNoUnit
            || rankNumber(*m_checkpoint, m_shown.fragments[row].rank) != *thing.rank)
            continue;
        m_fragments->setCurrentIndex(m_fragmentModel->index(static_cast<int>(row), 0));
        break;
    }
    m_following = false;
    fitFragments();
    Q_EMIT shown();
}

/// No higher than its rows: the facts above need the room. No column is cut: those that have no room are
/// hidden until the panel is wider.
void DetailsPanel::fitFragments()
{
    const int rows = std::max(m_fragmentModel->rowCount(), 1);
    const int bar = m_fragments->verticalScrollBar()->sizeHint().width();
    const int room = m_fragmentBox->width() - 2 * m_fragments->frameWidth() - bar;
    // What is stretched is cut, too, where there is less room than it needs: it is scrolled to instead.
    const bool isRoomy = fragmentColumnWidth(0) + fragmentColumnWidth(1) <= room;
    m_fragments->horizontalHeader()->setStretchLastSection(isRoomy);
    int needed = 0;
    QStringList hidden;
    for (int column = 0; column < m_fragmentModel->columnCount(); ++column) {
        const int width = fragmentColumnWidth(column);
        needed += width;
        const bool fits = column < kLeastColumns || (needed <= room && hidden.isEmpty());
        m_fragments->setColumnHidden(column, !fits);
        m_fragments->setColumnWidth(column, width);
        if (!fits)
            hidden.append(m_fragmentModel->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    }
    m_fragmentTitle->setToolTip(
        hidden.isEmpty() ? QString() : tr("A wider panel also shows: %1").arg(hidden.join(u", "_s)));
    const int most = m_fragments->horizontalHeader()->minimumHeight()
        + rows * m_fragments->verticalHeader()->defaultSectionSize() + 2 * m_fragments->frameWidth()
        + (isRoomy ? 0 : m_fragments->horizontalScrollBar()->sizeHint().height());
    m_fragments->setMaximumHeight(std::max(most, m_fragments->minimumSizeHint().height()));
    m_fragmentBox->setMaximumHeight(m_fragments->maximumHeight()
        + std::max(m_states->sizeHint().height(), m_fragmentTitle->sizeHint().height()) + 12);
}

int DetailsPanel::fragmentColumnWidth(int column) const
{
    constexpr int kMostMeasured = 64; // rows; and the last one, which has the largest numbers
    constexpr int kMargins = 18;
    constexpr int kSeverityIcon = 20;
    const QFontMetrics metrics = m_fragments->fontMetrics();
    const auto widthAt = [&](int row) {
        const QModelIndex cell = m_fragmentModel->index(row, column);
        const int icon = cell.data(SeverityRole).toInt() > 0 ? kSeverityIcon : 0;
        return icon + metrics.horizontalAdvance(cell.data().toString());
    };
    int width = metrics.horizontalAdvance(
        m_fragmentModel->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    const int rows = m_fragmentModel->rowCount();
    for (int row = 0; row < std::min(rows, kMostMeasured); ++row)
        width = std::max(width, widthAt(row));
    return kMargins + (rows > kMostMeasured ? std::max(width, widthAt(rows - 1)) : width);
}

void DetailsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitFragments();
}

void DetailsPanel::addFact(QVBoxLayout* into, const DetailFact& fact)
{
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    auto* name = new QLabel(fact.name);
    name->setObjectName(u"detailsFactName"_s);
    if (!fact.isAddress)
        name->setFixedWidth(std::max(kNameWidth, fontMetrics().horizontalAdvance(u"exp_avg_sq"_s) + 4));
    name->setWordWrap(true);
    name->setTextFormat(Qt::PlainText);
    name->setForegroundRole(QPalette::PlaceholderText);
    line->addWidget(name, fact.isAddress ? 1 : 0, fact.isAddress ? Qt::AlignVCenter : Qt::AlignTop);
    if (!fact.isAddress) {
        auto* value = new QLabel(fact.value);
        value->setObjectName(u"detailsFact"_s);
        value->setTextFormat(Qt::PlainText);
        value->setWordWrap(true);
        value->setMinimumWidth(1);
        value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        value->setAccessibleName(fact.name % u": "_s % fact.value);
        line->addWidget(value, 1);
        into->addLayout(line);
        return;
    }
    auto* value = new LinkButton(fact.value); // whole: an address is as good as its last letter
    value->setObjectName(u"detailsAddress"_s);
    value->setAccessibleName(fact.name % u": "_s % fact.value);
    connect(value, &QAbstractButton::clicked, this, [this, address = fact.value] {
        auto thing
            = m_checkpoint ? selectionOf(*m_checkpoint, address) : Result<SelectedThing>(SelectedThing());
        if (thing && !thing->isEmpty())
            m_selection.select(std::move(*thing));
    });
    auto* copy = new QToolButton;
    copy->setObjectName(u"copyAddress"_s);
    copy->setAutoRaise(true);
    copy->setIconSize(QSize(14, 14));
    copy->setIcon(themedIcon(m_theme, u"copy"_s, ThemeRole::MutedText));
    copy->setToolTip(tr("Copy %1").arg(fact.value));
    copy->setAccessibleName(tr("Copy %1").arg(fact.name));
    connect(
        copy, &QToolButton::clicked, this, [text = fact.value] { QApplication::clipboard()->setText(text); });
    line->addWidget(copy);
    into->addLayout(line);
    into->addWidget(value); // on lines of its own, over the whole width
}

void DetailsPanel::chooseFragment(int row)
{
    const Fragment& fragment = m_fragmentModel->at(m_fragmentModel->rowAt(row));
    SelectedThing thing;
    thing.param = fragment.param;
    thing.state = fragment.state;
    if (fragment.unit != kNoUnit) {
        thing.rank = rankNumber(*m_checkpoint, fragment.rank);
        thing.unit = fragment.unit;
        const FlatUnit& unit = m_checkpoint->units[index(fragment.unit)];
        const uint32_t mapRow = rowOfRank(*m_checkpoint, unit, *thing.rank).value_or(0);
        thing.block
            = FlatBlock{mapRow, mapRow + 1, fragment.flatOffset, fragment.flatOffset + fragment.elements};
    }
    if (fragment.file != kNoFile) {
        thing.file = fragment.file;
        thing.record = fragment.record;
        thing.byte = fragment.byteOffset;
    }
    m_selection.select(std::move(thing));
}

void DetailsPanel::applyTheme()
{
    QPalette muted = palette();
    muted.setColor(QPalette::WindowText, m_theme.colour(ThemeRole::MutedText));
    m_kind->setPalette(muted);
}

} // namespace shardscope::ui
