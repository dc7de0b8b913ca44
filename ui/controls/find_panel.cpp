// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/find_panel.h"

#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_text.h"

#include <QEvent>
#include <QLabel>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <optional>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kWidth = 620;
constexpr int kMostHeight = 460;
constexpr int kMargin = 8;
constexpr int kPage = 8; ///< rows of Page Down
constexpr int kHitRole = Qt::UserRole + 100; ///< index of the hit; absent: the title of a group

/// Paints titles of groups, and hits with the typed letters in bold and what they are at the right.
class HitDelegate final : public QStyledItemDelegate
{
public:
    HitDelegate(const Theme& theme, const std::vector<FindHit>& hits, QObject* parent)
        : QStyledItemDelegate(parent)
        , m_theme(theme)
        , m_hits(hits)
    {
    }

    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& at) const override
    {
        const bool isTitle = !at.data(kHitRole).isValid();
        return {100, option.fontMetrics.height() + (isTitle && at.row() > 0 ? 12 : 8)};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& at) const override
    {
        const QRect area = option.rect.adjusted(kMargin + 2, 0, -kMargin - 2, 0);
        painter->save();
        painter->setLayoutDirection(Qt::LeftToRight); // names and places are, in every language
        const QVariant hit = at.data(kHitRole);
        if (!hit.isValid()) {
            QFont font = option.font;
            font.setPointSizeF(font.pointSizeF() * 0.9);
            painter->setFont(font);
            painter->setPen(m_theme.colour(ThemeRole::MutedText));
            painter->drawText(area.adjusted(0, 0, 0, -2), Qt::AlignLeft | Qt::AlignBottom,
                at.data(Qt::DisplayRole).toString());
            painter->restore();
            return;
        }
        const bool selected = (option.state & QStyle::State_Selected) != 0;
        if (selected)
            painter->fillRect(option.rect, m_theme.colour(ThemeRole::Accent));
        else if ((option.state & QStyle::State_MouseOver) != 0)
            painter->fillRect(option.rect, m_theme.colour(ThemeRole::Hover));
        paintHit(painter, option, area, m_hits[hit.toUInt()], selected);
        painter->restore();
    }

private:
    void paintHit(QPainter* painter, const QStyleOptionViewItem& option, const QRect& area,
        const FindHit& hit, bool selected) const
    {
        QFont bold = option.font;
        bold.setBold(true);
        const QFontMetrics boldMetrics(bold);
        int textWidth = 0;
        const auto forRuns = [&](auto visit) {
            for (qsizetype i = 0; i < hit.text.size();) {
                const bool isTyped = std::binary_search(hit.letters.begin(), hit.letters.end(), i);
                qsizetype end = i + 1;
                while (end < hit.text.size()
                    && std::binary_search(hit.letters.begin(), hit.letters.end(), end) == isTyped)
                    ++end;
                visit(hit.text.mid(i, end - i), isTyped);
                i = end;
            }
        };
        forRuns([&](const QString& run, bool isTyped) {
            textWidth += (isTyped ? boldMetrics : option.fontMetrics).horizontalAdvance(run);
        });
        // The name is never shortened for what it is.
        const int room = std::max(0, area.width() - std::min(textWidth, area.width()) - 2 * kMargin);
        const QString detail = option.fontMetrics.elidedText(hit.detail, Qt::ElideRight, room);
        painter->setPen(m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::MutedText));
        painter->setFont(option.font);
        if (detail.size() > 1 || detail == hit.detail)
            painter->drawText(area, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, detail);
        painter->setPen(m_theme.colour(selected ? ThemeRole::AccentText : ThemeRole::Text));
        if (textWidth > area.width()) {
            painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                elidedText(hit.text, option.fontMetrics, area.width()));
            return;
        }
        int x = area.left();
        forRuns([&](const QString& run, bool isTyped) {
            painter->setFont(isTyped ? bold : option.font);
            const int width = (isTyped ? boldMetrics : option.fontMetrics).horizontalAdvance(run);
            painter->drawText(QRect(x, area.top(), width + 2, area.height()),
                Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, run);
            x += width;
        });
    }

    const Theme& m_theme;
    const std::vector<FindHit>& m_hits;
};

/// What can be typed, with an example of each.
QString helpText()
{
    const std::pair<QString, QString> lines[] = {
        {u"down_proj"_s, FindPanel::tr("part of the name of a parameter, module or file")},
        {u"rank 3, dp3, layer 19"_s, FindPanel::tr("a rank or a layer")},
        {u"name[5,7]"_s, FindPanel::tr("one element of a tensor")},
        {u"4096, 0x1000"_s, FindPanel::tr("an offset in what is selected")},
        {u"has:nan size>1M"_s, FindPanel::tr("a filter; terms are offered as you type")},
        {u">"_s, FindPanel::tr("a command")},
    };
    QString html = FindPanel::tr("Type one of these:") % u"<table cellspacing=\"0\">"_s;
    for (const auto& [example, meaning] : lines)
        html += u"<tr><td style=\"padding-right:16px\"><b>"_s % example.toHtmlEscaped() % u"</b></td><td>"_s
            % meaning.toHtmlEscaped() % u"</td></tr>"_s;
    return html % u"</table>"_s;
}

} // namespace

FindPanel::FindPanel(Theme& theme, QWidget* field)
    : QFrame(field->window())
    , m_field(field)
    , m_rows(new QListWidget(this))
    , m_note(new QLabel(this))
    , m_filter(new QToolButton(this))
{
    setObjectName(u"findPanel"_s);
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_rows->setObjectName(u"findRows"_s);
    m_rows->setAccessibleName(tr("Found"));
    m_rows->setFrameShape(QFrame::NoFrame);
    m_rows->setFocusPolicy(Qt::NoFocus); // the field keeps the keyboard
    m_rows->setMouseTracking(true);
    m_rows->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_rows->setItemDelegate(new HitDelegate(theme, m_hits, m_rows));
    m_note->setObjectName(u"findNote"_s);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setWordWrap(true);
    m_note->setMargin(12);
    m_note->setForegroundRole(QPalette::PlaceholderText);
    m_filter->setObjectName(u"findFilter"_s);
    m_filter->setFocusPolicy(Qt::NoFocus);
    m_filter->setAutoRaise(true);
    m_filter->setIcon(themedIcon(theme, u"table"_s, ThemeRole::MutedText));
    m_filter->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_filter->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_filter->setToolTip(tr("Shows only these rows (Shift+Enter)"));
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(1, 1, 1, 1);
    rows->setSpacing(0);
    rows->addWidget(m_rows, 1);
    rows->addWidget(m_note);
    rows->addWidget(m_filter);
    hide();
    connect(m_rows, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) {
        if (item->data(kHitRole).isValid())
            Q_EMIT chosen();
    });
    connect(m_filter, &QToolButton::clicked, this, &FindPanel::filterChosen);
    window()->installEventFilter(this);
}

bool FindPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == window() && event->type() == QEvent::Resize && isVisible())
        place();
    return QFrame::eventFilter(watched, event);
}

void FindPanel::show(const FindList& found, const QString& typed)
{
    m_hits = found.hits;
    m_rows->clear();
    std::optional<FindGroup> group;
    for (size_t i = 0; i < m_hits.size(); ++i) {
        const FindHit& hit = m_hits[i];
        if (hit.group != group) {
            group = hit.group;
            const bool isPart = hit.group == FindGroup::Parameters && found.more > 0;
            auto* title = new QListWidgetItem(isPart
                    ? tr("%1 · the best, and %2 more").arg(findGroupText(hit.group), countText(found.more))
                    : findGroupText(hit.group),
                m_rows);
            title->setFlags(Qt::NoItemFlags);
        }
        auto* row = new QListWidgetItem(hit.text, m_rows);
        row->setData(kHitRole, static_cast<uint>(i));
        row->setToolTip(hit.detail.isEmpty() ? hit.text : QString(hit.text % u"\n"_s % hit.detail));
        row->setData(Qt::AccessibleTextRole,
            QString(findGroupText(hit.group) % u": "_s % hit.text % u", "_s % hit.detail));
    }
    m_rows->setVisible(!m_hits.empty());
    const bool isHelp = found.problem.isEmpty() && (typed.trimmed().isEmpty() || typed.trimmed() == ">"_L1);
    m_note->setTextFormat(isHelp ? Qt::RichText : Qt::PlainText);
    if (!found.problem.isEmpty())
        m_note->setText(found.problem);
    else if (isHelp)
        m_note->setText(helpText());
    else
        m_note->setText(tr("Nothing has this name."));
    m_note->setVisible(m_hits.empty() || !found.problem.isEmpty() || typed.trimmed().isEmpty());
    if (!m_hits.empty())
        step(1);
    place();
    QFrame::show();
    raise();
}

void FindPanel::showFilter(const QString& text)
{
    m_filter->setText(text);
    m_filter->setVisible(!text.isEmpty());
    if (isVisible())
        place();
}

void FindPanel::place()
{
    int height = 2;
    for (int i = 0; i < m_rows->count(); ++i)
        height += m_rows->sizeHintForRow(i);
    if (m_rows->isHidden())
        height = 2;
    const QRect inWindow(m_field->mapTo(window(), QPoint(0, m_field->height() + 2)), QSize());
    const int width = std::min(kWidth, window()->width() - 2 * kMargin);
    if (!m_note->isHidden())
        height += m_note->heightForWidth(width - 2);
    if (!m_filter->isHidden())
        height += m_filter->sizeHint().height();
    const int left = std::clamp(
        inWindow.left() + m_field->width() - width, kMargin, window()->width() - width - kMargin);
    const int most = std::min(kMostHeight, window()->height() - inWindow.top() - kMargin);
    setGeometry(left, inWindow.top(), width, std::min(height + 2, most));
}

void FindPanel::step(int by)
{
    const int rows = m_rows->count();
    int at = m_rows->currentRow();
    for (int i = 0; i < rows; ++i) {
        at = (at + by + rows + (at < 0 && by < 0 ? 1 : 0)) % rows;
        if (m_rows->item(at)->data(kHitRole).isValid())
            break;
    }
    m_rows->setCurrentRow(at);
    if (at > 0 && !m_rows->item(at - 1)->data(kHitRole).isValid())
        m_rows->scrollToItem(m_rows->item(at - 1));
    m_rows->scrollToItem(m_rows->item(at));
}

void FindPanel::move(int key)
{
    if (m_hits.empty())
        return;
    const bool up = key == Qt::Key_Up || key == Qt::Key_PageUp;
    const bool page = key == Qt::Key_PageUp || key == Qt::Key_PageDown;
    for (int i = 0; i < (page ? kPage : 1); ++i)
        step(up ? -1 : 1);
}

const FindHit* FindPanel::current() const
{
    const QListWidgetItem* item = m_rows->currentItem();
    const QVariant hit = item != nullptr ? item->data(kHitRole) : QVariant();
    return hit.isValid() ? &m_hits[hit.toUInt()] : nullptr;
}

const FindHit* FindPanel::first(FindGroup group) const
{
    const auto found = std::find_if(
        m_hits.begin(), m_hits.end(), [group](const FindHit& hit) { return hit.group == group; });
    return found == m_hits.end() ? nullptr : &*found;
}

} // namespace shardscope::ui
