// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/filter_field.h"

#include "ui/style/icons.h"

#include <QAction>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FilterField::FilterField(Theme& theme, QWidget* parent)
    : QLineEdit(parent)
    , m_theme(theme)
{
    setObjectName(u"filterField"_s);
    setAccessibleName(tr("Find or filter"));
    setPlaceholderText(tr("Find or filter (Ctrl+F)"));
    setClearButtonEnabled(true);
    QAction* glass
        = addAction(themedIcon(theme, u"search"_s, ThemeRole::MutedText), QLineEdit::LeadingPosition);
    glass->setObjectName(u"savedFilters"_s);
    glass->setText(tr("Saved filters"));
    glass->setToolTip(tr("Saved filters (Alt+Down)"));
    connect(glass, &QAction::triggered, this, &FilterField::showSaved);
    setMinimumWidth(140);
    setMaximumWidth(420);
    setProblem({});
}

void FilterField::setProblem(const QString& problem, qsizetype at, qsizetype length)
{
    m_problem = problem;
    m_problemAt = at;
    m_problemLength = length;
    setToolTip(problem.isEmpty()
            ? tr("Names, ranks, layers, files, addresses and commands; the terms of a filter")
            : problem);
    setAccessibleDescription(problem);
    update();
}

QRect FilterField::problemRect() const
{
    if (m_problem.isEmpty() || m_problemAt + m_problemLength > text().size())
        return {};
    // The text may be scrolled; the cursor's place is known.
    const QFontMetrics metrics = fontMetrics();
    const QRect cursor = cursorRect();
    const int origin = cursor.center().x() - metrics.horizontalAdvance(text().left(cursorPosition()));
    const int left = origin + metrics.horizontalAdvance(text().left(m_problemAt));
    const int right = origin + metrics.horizontalAdvance(text().left(m_problemAt + m_problemLength));
    return QRect(left, cursor.top(), right - left, cursor.height());
}

void FilterField::showSaved()
{
    auto* menu = new QMenu(this);
    menu->setObjectName(u"savedFilterMenu"_s);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const QString now = text().simplified();
    const auto shown = [](const QString& filter) { return QString(filter).replace(u'&', u"&&"_s).left(80); };
    for (const QString& filter : m_saved)
        connect(
            menu->addAction(shown(filter)), &QAction::triggered, this, [this, filter] { setText(filter); });
    if (m_saved.isEmpty())
        menu->addAction(tr("No filter is saved"))->setEnabled(false);
    menu->addSeparator();
    QAction* keep = menu->addAction(tr("&Save This Filter"));
    keep->setObjectName(u"saveFilter"_s);
    keep->setEnabled(!now.isEmpty() && m_problem.isEmpty() && !m_saved.contains(now));
    connect(keep, &QAction::triggered, this, [this, now] { save(QStringList{now} + m_saved); });
    QMenu* remove = menu->addMenu(tr("&Remove"));
    remove->setEnabled(!m_saved.isEmpty());
    for (const QString& filter : m_saved) {
        connect(remove->addAction(shown(filter)), &QAction::triggered, this, [this, filter] {
            QStringList left = m_saved;
            left.removeAll(filter);
            save(left);
        });
    }
    menu->popup(mapToGlobal(rect().bottomLeft()));
}

void FilterField::save(const QStringList& filters)
{
    m_saved = filters;
    Q_EMIT savedChanged(filters);
}

void FilterField::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Down && event->modifiers().testFlag(Qt::AltModifier))
        return showSaved();
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
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
    const QRect wrong = problemRect().intersected(rect().adjusted(4, 0, -4, 0));
    if (wrong.isEmpty())
        return;
    constexpr int kStep = 3; // of the wavy line
    QPolygonF wave;
    for (int x = wrong.left(), up = 0; x <= wrong.right(); x += kStep, up = 1 - up)
        wave.append(QPointF(x, std::min(wrong.bottom(), rect().bottom() - 3) - 2 * up));
    painter.drawPolyline(wave);
}

} // namespace shardscope::ui
