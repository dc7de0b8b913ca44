// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/status_line.h"

#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"

#include <QStatusBar>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

ElidedLabel* makeLabel(QStatusBar* bar, const QString& name, int stretch)
{
    auto* label = new ElidedLabel(bar);
    label->setObjectName(name);
    label->setContentsMargins(6, 0, 6, 0);
    bar->addWidget(label, stretch);
    return label;
}

} // namespace

StatusLine::StatusLine(Session& session, QStatusBar* bar)
    : QObject(bar)
    , m_session(session)
    , m_title(makeLabel(bar, u"statusTitle"_s, 0)) // whole, while there is room
    , m_hover(makeLabel(bar, u"statusHover"_s, 4))
    , m_sum(makeLabel(bar, u"statusSum"_s, 3))
    , m_jobs(makeLabel(bar, u"statusJobs"_s, 0))
{
    bar->setObjectName(u"statusBar"_s);
    connect(&session, &Session::progressChanged, this, [this](const QString& text) {
        if (!text.isEmpty())
            m_title->setText(text);
        else
            update();
    });
    connect(&session.selection(), &Selection::hoverTextChanged, m_hover, &ElidedLabel::setText);
    connect(&session.selection(), &Selection::sumTextChanged, m_sum, &ElidedLabel::setText);
}

void StatusLine::update()
{
    const CheckpointPtr& checkpoint = m_session.checkpoint();
    if (!checkpoint) {
        m_title->setText(m_session.isOpening() ? tr("Opening…") : tr("No checkpoint is open"));
        return;
    }
    QString text = titleText(*checkpoint);
    if (!checkpoint->params.empty())
        text += u" · "_s % parametersText(m_session.looks()->parameters.count);
    text += u" · "_s % bytesText(countFiles(*checkpoint).bytes);
    if (m_session.isOpening())
        text += u" · "_s % tr("still reading…");
    m_title->setText(text);
}

void StatusLine::clearPlace()
{
    m_hover->setText({});
    m_sum->setText({});
}

void StatusLine::setJobs(int active)
{
    m_jobs->setText(active == 0 ? QString()
            : active == 1       ? tr("1 job is running")
                                : tr("%1 jobs are running").arg(active));
}

} // namespace shardscope::ui
