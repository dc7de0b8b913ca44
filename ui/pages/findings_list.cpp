// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/findings_list.h"

#include "ui/session/findings/check_text.h"
#include "ui/session/findings/finding_ways.h"
#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/link_button.h"

#include <QGridLayout>
#include <QLabel>
#include <QStringList>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FindingsList::FindingsList(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
    , m_grid(new QGridLayout(this))
{
    setObjectName(u"findingsList"_s);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(8);
    m_grid->setVerticalSpacing(3);
    m_grid->setColumnStretch(1, 1);
}

void FindingsList::clear()
{
    while (m_grid->count() > 0) {
        QLayoutItem* item = m_grid->takeAt(0);
        while (item->layout() != nullptr && item->layout()->count() > 0) {
            QLayoutItem* line = item->layout()->takeAt(0);
            delete line->widget();
            delete line;
        }
        delete item->widget();
        delete item;
    }
    m_row = 0;
}

void FindingsList::setFindings(const std::vector<Finding>& findings, bool isSupported, const QString& state)
{
    clear();
    const std::vector<FindingGroup> groups = groupFindings(findings);
    m_grid->addWidget(
        addLink(u"findingsCount"_s, findingCountText(findings, isSupported), {}), m_row++, 0, 1, 2);
    if (!state.isEmpty()) {
        QLabel* label = addLabel(u"findingsState"_s, state);
        label->setForegroundRole(QPalette::PlaceholderText);
        m_grid->addWidget(label, m_row++, 0, 1, 2);
    }
    for (size_t i = 0; i < groups.size() && i < kMaxRows; ++i)
        addRow(groups[i]);
    if (groups.size() > kMaxRows)
        m_grid->addWidget(addLink(u"findingsMore"_s,
                              tr("and %1 more, on the Findings page").arg(groups.size() - kMaxRows), {}),
            m_row++, 1);
}

QLabel* FindingsList::addLabel(const QString& name, const QString& text)
{
    auto* label = new QLabel(text, this);
    label->setObjectName(name);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

LinkButton* FindingsList::addLink(const QString& name, const QString& text, const Place& where)
{
    auto* link = new LinkButton(text, this);
    link->setObjectName(name);
    connect(link, &QAbstractButton::clicked, this, [this, where] {
        if (where.isEmpty())
            Q_EMIT allRequested();
        else
            Q_EMIT placeRequested(where);
    });
    return link;
}

void FindingsList::addRow(const FindingGroup& group)
{
    const std::vector<const Finding*>& alike = group.findings;
    const Finding& finding = group.first();
    const bool error = finding.severity == Severity::Error;
    const bool warning = finding.severity == Severity::Warning;
    auto* mark = new QToolButton(this);
    mark->setObjectName(u"findingMark"_s);
    mark->setAutoRaise(true);
    mark->setIconSize(iconSize(16));
    mark->setFixedSize(
        mark->iconSize().width() + 4, fontMetrics().height() + 2); // as high as a line of its text
    mark->setIcon(themedIcon(m_theme,
        error         ? u"error"_s
            : warning ? u"warning"_s
                      : u"info"_s,
        error         ? ThemeRole::Error
            : warning ? ThemeRole::Warning
                      : ThemeRole::Info));
    mark->setToolTip(finding.where.isEmpty() ? severityText(finding.severity)
                                             : tr("Go to %1").arg(placeText(finding.where)));
    mark->setAccessibleName(severityText(finding.severity) % u": "_s % group.message);
    mark->setFocusPolicy(Qt::NoFocus); // the message leads to the same place

    QVBoxLayout* lines = new QVBoxLayout;
    lines->setSpacing(0);
    QStringList places;
    for (size_t i = 0; i < alike.size() && i < kMaxPlaces; ++i) {
        if (alike[i]->where.isEmpty())
            continue;
        places.append(placeText(alike[i]->where));
        lines->addWidget(addLink(u"findingPlace"_s, places.back(), alike[i]->where));
    }
    if (alike.size() > kMaxPlaces)
        lines->addWidget(
            addLink(u"findingPlace"_s, tr("and %1 more places").arg(alike.size() - kMaxPlaces), {}));
    LinkButton* text = addLink(u"finding"_s, group.message, finding.where);
    text->setAccessibleName(mark->accessibleName());
    text->setToolTip(mark->toolTip());
    connect(mark, &QToolButton::clicked, text, &QAbstractButton::click);
    addFacts(group, places, lines);
    m_grid->addWidget(mark, m_row, 0, Qt::AlignTop);
    m_grid->addWidget(text, m_row, 1);
    m_grid->addLayout(lines, m_row + 1, 1);
    m_grid->setRowMinimumHeight(m_row + 2, 6);
    m_row += 3;
}

/// The first facts, those that are places as links, and last the code.
void FindingsList::addFacts(const FindingGroup& group, const QStringList& places, QVBoxLayout* lines)
{
    const Finding& finding = group.first();
    QStringList facts;
    size_t count = 0;
    if (group.findings.size() == 1)
        for (const std::string& each : finding.evidence) {
            const QString fact = factText(finding, each);
            if (places.contains(fact) || ++count > kMaxPlaces)
                continue;
            const auto part = std::ranges::find_if(
                finding.parts, [&](const Place& place) { return place.text() == each; });
            if (part == finding.parts.end())
                facts.append(fact);
            else
                lines->addWidget(addLink(u"findingPlace"_s, fact, *part));
        }
    const size_t more = count > kMaxPlaces ? count - kMaxPlaces : 0;
    if (more == 0)
        facts.append(toText(finding.code));
    if (!facts.isEmpty()) {
        auto* known = new ElidedLabel(this);
        known->setObjectName(u"findingFacts"_s);
        known->setText(facts.join(QChar::LineSeparator));
        known->setWraps(true); // also a name without a space
        known->setForegroundRole(QPalette::PlaceholderText);
        lines->addWidget(known);
    }
    if (more == 0)
        return;
    lines->addWidget(addLink(u"findingFactsMore"_s, tr("and %1 more, on the Findings page").arg(more), {}));
    QLabel* code = addLabel(u"findingCode"_s, toText(finding.code));
    code->setForegroundRole(QPalette::PlaceholderText);
    lines->addWidget(code);
}

} // namespace shardscope::ui
