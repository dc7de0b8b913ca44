// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/card.h"

#include "ui/widgets/flow_layout.h"
#include "ui/widgets/link_button.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

Card::Card(Theme& theme, const QString& title, QWidget* parent)
    : QFrame(parent)
    , m_theme(theme)
    , m_title(new QLabel(title, this))
    , m_body(new QVBoxLayout(this))
{
    m_title->setObjectName(u"cardTitle"_s);
    m_title->setTextFormat(Qt::PlainText);
    QFont font = m_title->font();
    font.setBold(true);
    m_title->setFont(font);
    m_body->setContentsMargins(16, 13, 16, 15);
    m_body->setSpacing(8);
    m_body->addWidget(m_title);
    setAccessibleName(title);
    connect(&theme, &Theme::changed, this, &Card::applyTheme);
}

void Card::setTitle(const QString& title)
{
    m_title->setText(title);
    setAccessibleName(title);
}

QLabel* Card::addHeadline(const QString& text)
{
    m_facts = nullptr;
    auto* label = new QLabel(text, this);
    label->setObjectName(u"cardHeadline"_s);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    QFont font = label->font();
    font.setPointSizeF(font.pointSizeF() * 1.65);
    label->setFont(font);
    m_body->addWidget(label);
    return label;
}

LinkButton* Card::addHeadlineLink(const QString& text)
{
    m_facts = nullptr;
    auto* link = new LinkButton(text, this);
    link->setObjectName(u"cardHeadline"_s);
    QFont font = link->font();
    font.setPointSizeF(font.pointSizeF() * 1.65);
    link->setFont(font);
    m_body->addWidget(link);
    return link;
}

int Card::beginFact(const QString& name)
{
    if (m_facts == nullptr) {
        m_facts = new QGridLayout;
        m_facts->setContentsMargins(0, 0, 0, 0);
        m_facts->setHorizontalSpacing(14);
        m_facts->setVerticalSpacing(5);
        m_facts->setColumnStretch(1, 1);
        m_body->addLayout(m_facts);
    }
    auto* nameLabel = new QLabel(name, this);
    nameLabel->setObjectName(u"cardFactName"_s);
    mute(nameLabel);
    const int row = m_facts->rowCount();
    m_facts->addWidget(nameLabel, row, 0, Qt::AlignTop);
    return row;
}

QLabel* Card::addFact(const QString& name, const QString& value, const QString& toolTip)
{
    const int row = beginFact(name);
    auto* label = new QLabel(value, this);
    label->setObjectName(u"cardFact"_s);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setToolTip(toolTip);
    label->setAccessibleName(name % u": "_s % value);
    m_facts->addWidget(label, row, 1);
    return label;
}

LinkButton* Card::addFactLink(const QString& name, const QString& value, const QString& exact)
{
    const int row = beginFact(name);
    auto* link = new LinkButton(value, this);
    link->setObjectName(u"cardFact"_s);
    link->setToolTip(exact);
    link->setExactText(exact);
    link->setAccessibleName(name % u": "_s % value);
    m_facts->addWidget(link, row, 1);
    return link;
}

QList<LinkButton*> Card::addFactLinks(const QString& name, const QStringList& values)
{
    const int number = beginFact(name);
    auto* row = new QWidget(this);
    auto* flow = new FlowLayout(row);
    flow->setContentsMargins(0, 0, 0, 0);
    QList<LinkButton*> links;
    for (const QString& value : values) {
        auto* link = new LinkButton(value, row);
        link->setObjectName(u"cardFact"_s);
        link->setAccessibleName(name % u": "_s % value);
        flow->addWidget(link);
        links.append(link);
    }
    m_facts->addWidget(row, number, 1);
    return links;
}

QLabel* Card::addText(const QString& text, bool muted)
{
    m_facts = nullptr;
    auto* label = new QLabel(text, this);
    label->setObjectName(u"cardText"_s);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    if (muted)
        mute(label);
    m_body->addWidget(label);
    return label;
}

LinkButton* Card::addTextLink(const QString& text)
{
    m_facts = nullptr;
    auto* link = new LinkButton(text, this);
    link->setObjectName(u"cardText"_s);
    m_body->addWidget(link);
    return link;
}

void Card::addWidget(QWidget* widget)
{
    m_facts = nullptr;
    m_body->addWidget(widget);
}

void Card::clear()
{
    m_facts = nullptr;
    m_muted.clear();
    while (m_body->count() > 1) {
        QLayoutItem* item = m_body->takeAt(1);
        if (QLayout* inner = item->layout(); inner != nullptr) {
            while (inner->count() > 0) {
                QLayoutItem* part = inner->takeAt(0);
                delete part->widget();
                delete part;
            }
        }
        delete item->widget();
        delete item;
    }
}

void Card::mute(QLabel* label)
{
    m_muted.append(label);
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, m_theme.colour(ThemeRole::MutedText));
    label->setPalette(palette);
}

void Card::applyTheme()
{
    for (QLabel* label : std::exchange(m_muted, {}))
        mute(label);
    update();
}

void Card::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(m_theme.colour(ThemeRole::Border));
    painter.setBrush(m_theme.colour(ThemeRole::Surface));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7);
}

CardGrid::CardGrid(QWidget* parent)
    : QLayout(parent)
{
    setContentsMargins(18, 18, 18, 18);
}

CardGrid::~CardGrid()
{
    qDeleteAll(m_items);
}

QLayoutItem* CardGrid::takeAt(int at)
{
    return at >= 0 && at < m_items.size() ? m_items.takeAt(at) : nullptr;
}

int CardGrid::heightForWidth(int width) const
{
    return arrange(QRect(0, 0, width, 0), false);
}

QSize CardGrid::sizeHint() const
{
    return {2 * kColumnWidth, 400};
}

QSize CardGrid::minimumSize() const
{
    return {240, 100};
}

void CardGrid::setGeometry(const QRect& rect)
{
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

int CardGrid::arrange(const QRect& rect, bool apply) const
{
    const QMargins margins = contentsMargins();
    const QRect area = rect.marginsRemoved(margins);
    const int columns = std::clamp((area.width() + kGap) / (kColumnWidth + kGap), 1, kMaxColumns);
    const int width = (area.width() - (columns - 1) * kGap) / columns;
    const Qt::LayoutDirection direction
        = parentWidget() != nullptr ? parentWidget()->layoutDirection() : Qt::LeftToRight;
    QList<int> heights(columns, 0);
    int shown = 0;
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty())
            continue;
        const int column = shown++ % columns;
        const int height
            = item->hasHeightForWidth() ? item->heightForWidth(width) : item->sizeHint().height();
        if (apply)
            item->setGeometry(QStyle::visualRect(direction, area,
                QRect(area.left() + column * (width + kGap), area.top() + heights[column], width, height)));
        heights[column] += height + kGap;
    }
    const int tallest = *std::max_element(heights.begin(), heights.end());
    return margins.top() + margins.bottom() + std::max(0, tallest - kGap);
}

} // namespace shardscope::ui
