// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/tag_history.h"

#include "core/report/answers/tags_report.h"
#include "ui/controls/table_setup.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/flow_layout.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/timeline.h"

#include <QAction>
#include <QComboBox>
#include <QDateTime>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QScopedValueRollback>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int kMostWidth = 300;

TimelinePoint pointOf(const TagRow& row)
{
    TimelinePoint out;
    out.name = toText(row.tag);
    out.isOpen = row.isOpen;
    out.mark = row.isOpen ? u"open"_s : row.read && row.read->latest ? u"latest"_s : QString();
    out.change = row.change;
    out.description = tagRowText(row);
    if (row.isGap)
        out.gap = u"%1 steps"_s.arg(countText(static_cast<uint64_t>(*row.steps)));
    if (!row.read)
        return out;
    out.state = row.read->isComplete() ? TimelinePoint::Whole : TimelinePoint::Broken;
    out.value = static_cast<double>(row.read->bytes);
    return out;
}

} // namespace

TagHistory::TagHistory(Theme& theme, TagStore& store, QWidget* parent)
    : QWidget(parent)
    , m_store(store)
    , m_messages(new MessageBar(theme, this))
    , m_summary(new QLabel(this))
    , m_axis(new QComboBox(this))
    , m_timeline(new Timeline(theme, this))
    , m_model(new TagTableModel(this))
    , m_table(new QTableView(this))
    , m_note(new QLabel(this))
{
    m_messages->setObjectName(u"tagMessages"_s);
    m_messages->hide();
    m_summary->setObjectName(u"tagSummary"_s);
    m_summary->setWordWrap(true);
    m_axis->setObjectName(u"tagAxis"_s);
    m_axis->setAccessibleName(tr("What the tags are placed by"));
    m_axis->addItems({tr("By step"), tr("By date"), tr("Evenly")});
    m_timeline->setObjectName(u"tagTimeline"_s);
    m_timeline->setAccessibleName(tr("Tags over time"));
    m_timeline->setHeightText(
        [](double most) { return tr("Size, up to %1").arg(bytesText(static_cast<uint64_t>(most))); });
    prepareTable(m_table, theme, u"tagTable"_s, tr("Tags"));
    m_table->setModel(m_model);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_note->setObjectName(u"tagNote"_s);
    m_note->setWordWrap(true);
    m_note->setText(tr("Values of the tags are not read."));
    makeActions(theme);
    makeLayout();
    connectWidgets();
    handFocusTo(this, m_table);
}

void TagHistory::makeActions(Theme& theme)
{
    const auto add = [&](const QString& name, const QString& text, const QString& icon) {
        QAction* action = addViewAction(m_table, text);
        action->setObjectName(name);
        action->setIcon(themedIcon(theme, icon));
        return action;
    };
    m_open = add(u"tagOpen"_s, tr("&Open"), u"open"_s);
    m_compare = add(u"tagCompare"_s, tr("Co&mpare with This Tag"), u"compare"_s);
    m_compare->setToolTip(tr("Compare the open checkpoint with this tag"));
    m_reshard = add(u"tagReshard"_s, tr("Resume &at…"), u"reshard"_s);
    m_reshard->setToolTip(tr("Write this tag for another number of GPUs, to resume from it"));
    m_save = addViewAction(m_table, tr("Save Table…"));
    m_save->setObjectName(u"tagsSave"_s);
    connect(m_save, &QAction::triggered, this, &TagHistory::saveRequested);
    const auto current = [this] { return m_model->tags()[static_cast<size_t>(currentTag())]; };
    connect(m_open, &QAction::triggered, this,
        [this, current] { Q_EMIT openRequested(QByteArray::fromStdString(folderOf(current()).native())); });
    connect(m_compare, &QAction::triggered, this,
        [this, current] { Q_EMIT compareRequested(pathText(folderOf(current()))); });
    connect(m_reshard, &QAction::triggered, this, [this, current] {
        Q_EMIT reshardRequested(QByteArray::fromStdString(folderOf(current()).native()));
    });
}

void TagHistory::makeLayout()
{
    auto* head = new QHBoxLayout;
    head->setContentsMargins(12, 8, 12, 4);
    head->addWidget(m_summary, 1);
    head->addWidget(m_axis);
    auto* buttons = new QWidget(this);
    auto* row = new FlowLayout(buttons);
    row->setContentsMargins(12, 4, 12, 8);
    for (QAction* action : {m_open, m_compare, m_reshard}) {
        auto* button = new QToolButton(buttons);
        button->setObjectName(action->objectName() % u"Button"_s);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setFocusPolicy(Qt::StrongFocus);
        row->addWidget(button);
    }
    m_note->setContentsMargins(12, 6, 12, 8);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_messages);
    rows->addLayout(head);
    rows->addWidget(m_timeline);
    rows->addWidget(buttons);
    rows->addWidget(m_table, 1);
    rows->addWidget(m_note);
}

void TagHistory::connectWidgets()
{
    connect(&m_store, &TagStore::changed, this, &TagHistory::refresh);
    connect(m_axis, &QComboBox::currentIndexChanged, this, &TagHistory::showTimeline);
    connect(m_table, &QTableView::activated, this, [this] {
        if (m_open->isEnabled())
            m_open->trigger();
    });
    connect(m_timeline, &Timeline::activated, this, [this] {
        if (m_open->isEnabled())
            m_open->trigger();
    });
    connect(m_timeline, &Timeline::currentChanged, this, &TagHistory::setCurrent);
    connect(m_timeline, &Timeline::menuRequested, this, [this](const QPoint& at) {
        auto* menu = new QMenu(this);
        menu->setObjectName(u"tagMenu"_s);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->addActions({m_open, m_compare, m_reshard});
        menu->popup(at);
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (now.isValid())
                setCurrent(static_cast<int>(m_model->rowAt(now.row())));
        });
    connect(m_model, &QAbstractItemModel::modelReset, this, [this] { setCurrent(currentTag()); });
}

void TagHistory::setCheckpoint(const CheckpointPtr& checkpoint)
{
    const bool isOther = !m_checkpoint || !checkpoint || checkpoint->tagFolder != m_checkpoint->tagFolder;
    m_checkpoint = checkpoint;
    if (isOther)
        m_current = m_store.openTag();
    refresh();
}

void TagHistory::setFilter(const QString& text)
{
    m_model->setFilter(text);
    showSummary();
}

void TagHistory::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    want();
}

/// The checkpoint itself comes first: both are on the same disk.
void TagHistory::want()
{
    if (isVisible() && m_checkpoint && m_checkpoint->fullyRead)
        m_store.want();
}

void TagHistory::refresh()
{
    m_model->setTags(tagRows(m_store));
    fitColumns(m_table, kMostWidth);
    showTimeline();
    showSummary();
    m_messages->setVisible(m_store.error().has_value());
    if (m_store.error())
        m_messages->showError(*m_store.error());
    updateActions();
    want();
}

TagHistory::Axis TagHistory::axis() const
{
    return static_cast<Axis>(m_axis->currentIndex());
}

void TagHistory::showTimeline()
{
    QList<TimelinePoint> points;
    for (const TagRow& row : m_model->tags()) {
        TimelinePoint point = pointOf(row);
        const bool isKnown = row.read && !row.read->error;
        if (isKnown && axis() == Axis::Step && row.read->steps.globalSteps)
            point.place = static_cast<double>(*row.read->steps.globalSteps);
        else if (isKnown && axis() == Axis::Date && row.read->modifiedNs > 0)
            point.place = static_cast<double>(row.read->modifiedNs / kNsPerMs);
        if (axis() != Axis::Step)
            point.gap.clear();
        points.append(std::move(point));
    }
    if (axis() == Axis::Step)
        m_timeline->setAxis(
            [](double step) { return QString(u"step "_s % QLocale::c().toString(step, 'f', 0)); }, true);
    else if (axis() == Axis::Date)
        m_timeline->setAxis(
            [](double ms) {
                return QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(ms))
                    .toString(u"yyyy-MM-dd HH:mm"_s);
            },
            false);
    else
        m_timeline->setAxis([](double) { return QString(); }, true);
    m_timeline->setPoints(std::move(points));
    m_timeline->setCurrent(currentTag());
}

void TagHistory::showSummary()
{
    const std::vector<TagRow>& tags = m_model->tags();
    const auto count
        = [&](auto is) { return static_cast<size_t>(std::count_if(tags.begin(), tags.end(), is)); };
    const size_t unread = count([](const TagRow& row) { return !row.read; });
    const size_t broken = count([](const TagRow& row) { return row.read && !row.read->isComplete(); });
    const size_t gaps = count([](const TagRow& row) { return row.isGap; });
    const size_t changes = count([](const TagRow& row) { return !row.change.isEmpty(); });
    QStringList out{tags.size() == 1 ? tr("1 tag") : tr("%1 tags").arg(countText(tags.size()))};
    if (unread > 0)
        out.append(m_store.isReading() ? tr("reading, %1 left").arg(countText(unread))
                                       : tr("%1 not read").arg(countText(unread)));
    if (broken > 0)
        out.append(broken == 1 ? tr("1 is not complete") : tr("%1 are not complete").arg(countText(broken)));
    else if (unread == 0 && !tags.empty())
        out.append(tr("all complete in names and headers"));
    if (gaps > 0)
        out.append(gaps == 1 ? tr("1 gap in the steps") : tr("%1 gaps in the steps").arg(countText(gaps)));
    if (changes > 0)
        out.append(changes == 1 ? tr("1 change of kind or ranks")
                                : tr("%1 changes of kind or ranks").arg(countText(changes)));
    if (static_cast<size_t>(m_model->rowCount()) < tags.size())
        out.append(tr("the filter shows %1 in the table").arg(m_model->rowCount()));
    m_summary->setText(out.join(u" · "_s));
}

int TagHistory::currentTag() const
{
    const std::vector<TagRow>& tags = m_model->tags();
    const auto found
        = std::find_if(tags.begin(), tags.end(), [this](const TagRow& row) { return row.tag == m_current; });
    return found == tags.end() ? -1 : static_cast<int>(found - tags.begin());
}

void TagHistory::setCurrent(int tag)
{
    if (tag < 0)
        return updateActions();
    m_current = m_model->tags()[static_cast<size_t>(tag)].tag;
    m_timeline->setCurrent(tag);
    const int row = m_model->rowOf(static_cast<uint32_t>(tag));
    if (row >= 0 && m_table->currentIndex().row() != row) {
        m_table->setCurrentIndex(m_model->index(row, 0));
        m_table->scrollTo(m_model->index(row, 0));
    }
    updateActions();
}

void TagHistory::updateActions()
{
    const int at = currentTag();
    const TagRow* tag = at < 0 ? nullptr : &m_model->tags()[static_cast<size_t>(at)];
    m_open->setEnabled(tag != nullptr && !tag->isOpen);
    m_compare->setEnabled(tag != nullptr && !tag->isOpen && m_checkpoint);
    m_reshard->setEnabled(tag != nullptr);
    const std::vector<TagRow>& tags = m_model->tags();
    m_save->setEnabled(!tags.empty()
        && std::all_of(tags.begin(), tags.end(), [](const TagRow& row) { return row.read != nullptr; }));
}

TagsAnswer TagHistory::shown(bool isSorted) const
{
    TagsAnswer out{.path = m_store.folder().native(), .run = {}, .tags = {}};
    out.run.base = m_store.folder();
    std::vector<uint32_t> rows = m_model->rows();
    if (isSorted)
        std::sort(rows.begin(), rows.end());
    for (const uint32_t row : rows)
        if (const auto& read = m_model->tags()[row].read)
            out.tags.push_back(*read);
    return out;
}

io::Path TagHistory::folderOf(const TagRow& tag) const
{
    return tag.read ? tag.read->folder : m_store.folder() / tag.tag;
}

} // namespace shardscope::ui
