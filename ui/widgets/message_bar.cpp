// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/message_bar.h"

#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxLines = 5;

} // namespace

MessageBar::MessageBar(Theme& theme, QWidget* parent)
    : QFrame(parent)
    , m_theme(theme)
    , m_icon(new QLabel(this))
    , m_scroll(new QScrollArea(this))
    , m_text(new QLabel)
    , m_close(new QToolButton(this))
{
    setObjectName(u"messageBar"_s);
    m_icon->setObjectName(u"messageIcon"_s);
    m_text->setObjectName(u"messageText"_s);
    m_close->setObjectName(u"messageClose"_s);
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_scroll->setObjectName(u"messageScroll"_s);
    m_scroll->setWidget(m_text);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setFocusPolicy(Qt::NoFocus); // the text itself can be focused and scrolls along
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->viewport()->setAutoFillBackground(false);
    m_text->setAutoFillBackground(false);
    m_scroll->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_close->setAutoRaise(true);
    m_close->setToolTip(tr("Dismiss"));
    m_close->setAccessibleName(tr("Dismiss message"));
    m_close->setIcon(themedIcon(theme, u"close"_s, ThemeRole::MutedText));

    m_row = new QHBoxLayout(this);
    m_row->setContentsMargins(12, 8, 8, 8);
    m_row->setSpacing(10);
    m_row->addWidget(m_icon, 0, Qt::AlignTop);
    m_row->addWidget(m_scroll, 1, Qt::AlignVCenter);
    m_row->addWidget(m_close, 0, Qt::AlignTop);
    connect(m_close, &QToolButton::clicked, this, &QWidget::hide);
    connect(&theme, &Theme::changed, this, &MessageBar::applyTheme);
    hide();
}

void MessageBar::showMessage(Severity severity, const QString& text, const QStringList& actions)
{
    m_severity = severity;
    m_text->setText(text);
    showActions(actions);
    setAccessibleName(severityText(severity) % u": "_s % text);
    applyTheme();
    show();
    fitText();
}

void MessageBar::showActions(const QStringList& actions)
{
    while (m_actions.size() < actions.size()) {
        auto* button = new QPushButton(this);
        const auto number = static_cast<int>(m_actions.size());
        button->setObjectName(number == 0 ? u"messageAction"_s : u"messageAction%1"_s.arg(number + 1));
        button->setAutoDefault(false); // Enter starts what a dialog is for
        connect(button, &QPushButton::clicked, this, [this, number] { Q_EMIT actionTriggered(number); });
        m_row->insertWidget(m_row->count() - 1, button, 0, Qt::AlignVCenter);
        m_actions.append(button);
    }
    for (qsizetype i = 0; i < m_actions.size(); ++i) {
        m_actions[i]->setText(actions.value(i));
        m_actions[i]->setVisible(i < actions.size());
    }
}

void MessageBar::showError(const Error& error)
{
    showMessage(Severity::Error, errorText(error));
}

void MessageBar::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    fitText();
}

void MessageBar::fitText()
{
    layout()->activate();
    const int width = m_scroll->viewport()->width();
    const int line = m_text->fontMetrics().lineSpacing();
    m_scroll->setFixedHeight(std::clamp(m_text->heightForWidth(width), line, kMaxLines * line));
}

QString MessageBar::text() const
{
    return m_text->text();
}

void MessageBar::applyTheme()
{
    const bool error = m_severity == Severity::Error;
    const bool warning = m_severity == Severity::Warning;
    const QIcon icon = themedIcon(m_theme,
        error         ? u"error"_s
            : warning ? u"warning"_s
                      : u"info"_s,
        error         ? ThemeRole::Error
            : warning ? ThemeRole::Warning
                      : ThemeRole::Info);
    QPalette tinted = palette(); // for the groove of the scroll bar
    tinted.setColor(QPalette::Window,
        m_theme.colour(error ? ThemeRole::ErrorTint
                : warning    ? ThemeRole::WarningTint
                             : ThemeRole::InfoTint));
    m_scroll->setPalette(tinted);
    m_icon->setPixmap(icon.pixmap(iconSize(18), devicePixelRatioF()));
    update();
}

void MessageBar::paintEvent(QPaintEvent* /*event*/)
{
    const ThemeRole tint = m_severity == Severity::Error ? ThemeRole::ErrorTint
        : m_severity == Severity::Warning                ? ThemeRole::WarningTint
                                                         : ThemeRole::InfoTint;
    const ThemeRole edge = m_severity == Severity::Error ? ThemeRole::Error
        : m_severity == Severity::Warning                ? ThemeRole::Warning
                                                         : ThemeRole::Info;
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.colour(tint));
    painter.fillRect(QRect(0, 0, 3, height()), m_theme.colour(edge));
}

} // namespace shardscope::ui
