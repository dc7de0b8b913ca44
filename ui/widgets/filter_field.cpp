// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/filter_field.h"

#include "ui/style/icons.h"

#include <QAction>
#include <QKeyEvent>
#include <QPainter>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FilterField::FilterField(Theme& theme, QWidget* parent)
    : QLineEdit(parent)
    , m_theme(theme)
{
    setObjectName(u"filterField"_s);
    setAccessibleName(tr("Filter parameters and files"));
    setPlaceholderText(tr("Filter (Ctrl+F)"));
    setClearButtonEnabled(true);
    addAction(themedIcon(theme, u"search"_s, ThemeRole::MutedText), QLineEdit::LeadingPosition);
    setMinimumWidth(140);
    setMaximumWidth(420);
    setProblem({});
}

void FilterField::setProblem(const QString& problem)
{
    m_problem = problem;
    setToolTip(!problem.isEmpty()
            ? problem
            : tr("<p>Words are parts of names, all must match; <code>layers.*.bias</code> is a whole name; "
                 "<code>/up|down$/</code> is a regular expression.</p><p><code>dtype:bf16 size&gt;1M "
                 "elements&lt;=10 frozen:yes shared:yes buffer:no group:1 layer:4..7 rank:3 padding:yes "
                 "state:exp_avg</code></p>"));
    setAccessibleDescription(problem);
    update();
}

void FilterField::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Down) {
        Q_EMIT accepted();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

void FilterField::paintEvent(QPaintEvent* event)
{
    QLineEdit::paintEvent(event);
    if (m_problem.isEmpty())
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.colour(ThemeRole::Error), 1.5));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 3, 3);
}

} // namespace shardscope::ui
