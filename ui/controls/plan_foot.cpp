// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/plan_foot.h"

#include "core/engine/write/execute.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PlanFoot::PlanFoot(Theme& theme, const QString& prefix, QWidget* parent)
    : QWidget(parent)
    , m_command(new CommandLine(theme, prefix % u"Command"_s, this))
    , m_summary(new QLabel(this))
{
    m_summary->setObjectName(prefix % u"Summary"_s);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    m_summary->setMinimumHeight(2 * m_summary->fontMetrics().lineSpacing()); // the two lines of showPlan()
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_start = buttons->addButton(tr("Start"), QDialogButtonBox::AcceptRole);
    m_start->setObjectName(prefix % u"Start"_s);
    m_start->setDefault(true);
    m_start->setEnabled(false);
    m_save = buttons->addButton(tr("Save &Plan…"), QDialogButtonBox::ActionRole);
    m_save->setObjectName(prefix % u"Save"_s);
    setWhyNotSaved({});
    m_save->setEnabled(false);
    auto* last = new QHBoxLayout;
    last->addWidget(m_summary, 1);
    last->addWidget(buttons);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(10);
    rows->addWidget(m_command);
    rows->addLayout(last);
    connect(buttons, &QDialogButtonBox::accepted, this, &PlanFoot::startRequested);
    connect(buttons, &QDialogButtonBox::rejected, this, &PlanFoot::cancelRequested);
    connect(m_save, &QPushButton::clicked, this, &PlanFoot::saveRequested);
}

void PlanFoot::setCommand(const QString& command)
{
    m_command->setCommand(command);
}

void PlanFoot::setResumes(bool resumes)
{
    m_start->setText(resumes ? tr("Resume") : tr("Start"));
}

void PlanFoot::setWhyNotSaved(const QString& reason)
{
    m_canSave = reason.isEmpty();
    m_save->setToolTip(
        m_canSave ? tr("Saves the plan for `shardscope run`, on this machine or another") : reason);
    m_save->setAccessibleDescription(m_save->toolTip());
}

void PlanFoot::showPlanning()
{
    m_start->setEnabled(false);
    m_save->setEnabled(false);
    m_summary->setText(tr("Planning…"));
}

void PlanFoot::showPlan(const WritePlan* plan, const std::optional<uint64_t>& freeBytes, bool canStart)
{
    m_start->setEnabled(plan != nullptr && canStart);
    m_save->setEnabled(plan != nullptr && canStart && m_canSave);
    m_summary->setText(plan != nullptr ? planSummary(*plan, freeBytes) % u'\n'
                % planEstimate(*plan, m_writeRate, ExecuteOptions().memoryLimitBytes)
                                       : tr("No files can be written."));
    m_summary->setToolTip(plan != nullptr ? exactBytesText(plan->writesBytes) : QString());
}

} // namespace shardscope::ui
