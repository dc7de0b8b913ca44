// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/filter_bar.h"

#include "ui/style/icons.h"
#include "ui/widgets/filter_chips.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kIconSize = 16;

/// A row inside the bar, in line with the chips.
QHBoxLayout* addRow(QWidget* row)
{
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(12, 0, 12, 6);
    line->setSpacing(8);
    row->hide();
    return line;
}

} // namespace

FilterBar::FilterBar(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_chips(new FilterChips(theme, this))
    , m_count(new QLabel(this))
    , m_problemRow(new QWidget(this))
    , m_problemIcon(new QLabel(m_problemRow))
    , m_problem(new QLabel(m_problemRow))
    , m_workRow(new QWidget(this))
    , m_work(new QLabel(m_workRow))
    , m_action(new QPushButton(m_workRow))
{
    setObjectName(u"filterBar"_s);
    m_count->setObjectName(u"filterCount"_s);
    m_count->setContentsMargins(4, 6, 12, 6);
    m_count->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_count->setWordWrap(true); // it must not set the width of the window
    m_count->setForegroundRole(QPalette::WindowText);
    m_count->hide();
    m_problem->setObjectName(u"filterProblem"_s);
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setWordWrap(true);
    m_work->setObjectName(u"filterWork"_s);
    m_work->setTextFormat(Qt::PlainText);
    m_work->setWordWrap(true);
    m_action->setObjectName(u"filterWorkAction"_s);
    m_action->setAutoDefault(false);
    QHBoxLayout* problem = addRow(m_problemRow);
    problem->addWidget(m_problemIcon);
    problem->addWidget(m_problem, 1);
    QHBoxLayout* work = addRow(m_workRow);
    work->addWidget(m_work, 1);
    work->addWidget(m_action);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    auto* top = new QHBoxLayout;
    top->setSpacing(0);
    top->addWidget(m_chips, 3);
    top->addWidget(m_count, 2);
    rows->addLayout(top);
    rows->addWidget(m_problemRow);
    rows->addWidget(m_workRow);
    connect(m_chips, &FilterChips::wordsWanted, this,
        [this](const QStringList& words) { Q_EMIT filterWanted(words.join(u' ')); });
    connect(m_action, &QPushButton::clicked, this, &FilterBar::workTriggered);
    connect(&theme, &Theme::changed, this, &FilterBar::applyTheme);
    applyTheme();
}

void FilterBar::applyTheme()
{
    m_problemIcon->setPixmap(themedIcon(m_theme, u"error"_s, ThemeRole::Error).pixmap(kIconSize));
}

void FilterBar::show(const FilterView& view)
{
    const QString reason = view.problem ? view.problem->reason : QString();
    m_chips->setWords(view.words, view.problem ? view.problem->word : -1, reason);
    m_problem->setText(reason.isEmpty() ? QString() : tr("The filter cannot be applied. %1").arg(reason));
    m_problemRow->setVisible(!reason.isEmpty());
    m_count->setText(view.count);
    m_count->setVisible(!view.count.isEmpty() && reason.isEmpty());
}

void FilterBar::showWork(const QString& text, const QString& action)
{
    m_work->setText(text);
    m_action->setText(action);
    m_action->setVisible(!action.isEmpty());
    m_workRow->setVisible(!text.isEmpty());
}

} // namespace shardscope::ui
