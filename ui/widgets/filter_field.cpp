// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/filter_field.h"

#include "ui/style/icons.h"

#include <QAbstractItemView>
#include <QAction>
#include <QCompleter>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QStringListModel>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FilterField::FilterField(Theme& theme, QWidget* parent)
    : QLineEdit(parent)
    , m_theme(theme)
    , m_terms(new QStringListModel(this))
    , m_completer(new QCompleter(m_terms, this))
{
    setObjectName(u"filterField"_s);
    setAccessibleName(tr("Filter parameters and files"));
    setPlaceholderText(tr("Filter (Ctrl+F)"));
    setClearButtonEnabled(true);
    QAction* glass
        = addAction(themedIcon(theme, u"search"_s, ThemeRole::MutedText), QLineEdit::LeadingPosition);
    glass->setObjectName(u"savedFilters"_s);
    glass->setText(tr("Saved filters"));
    glass->setToolTip(tr("Saved filters (Alt+Down)"));
    connect(glass, &QAction::triggered, this, &FilterField::showSaved);
    m_completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_completer->setWidget(this); // not the field's own: it completes a word, not the text
    m_completer->popup()->setObjectName(u"filterTerms"_s);
    connect(m_completer, qOverload<const QString&>(&QCompleter::activated), this, &FilterField::insertTerm);
    connect(this, &QLineEdit::textEdited, this, &FilterField::offerTerms);
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

void FilterField::setTerms(const QStringList& terms)
{
    m_terms->setStringList(terms);
}

void FilterField::offerTerms(const QString& text)
{
    constexpr qsizetype kEnough = 2; // letters of a term
    const QString word = text.section(u' ', -1);
    m_completer->setCompletionPrefix(word);
    const bool isComplete
        = m_completer->completionCount() == 1 && m_completer->currentCompletion() == word.toLower();
    if (cursorPosition() < text.size() || word.size() < kEnough || m_completer->completionCount() == 0
        || isComplete) {
        m_completer->popup()->hide();
        return;
    }
    QRect place = cursorRect();
    place.setWidth(std::max(180, m_completer->popup()->sizeHintForColumn(0) + 24));
    m_completer->complete(place);
}

void FilterField::insertTerm(const QString& term)
{
    const QString before = text().left(text().size() - text().section(u' ', -1).size());
    setText(before % term);
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
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Down) {
        if (m_completer->popup()->isVisible() && m_completer->popup()->currentIndex().isValid())
            return event->ignore(); // the completer asks the field first
        m_completer->popup()->hide();
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
