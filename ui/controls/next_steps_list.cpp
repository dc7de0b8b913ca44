// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/next_steps_list.h"

#include "ui/style/icons.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/link_button.h"

#include <QGridLayout>
#include <QLabel>

#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString nameOf(NextStepId step)
{
    switch (step) {
    case NextStepId::Repair:
        return NextStepsList::tr("Repair on a copy");
    case NextStepId::Resume:
        return NextStepsList::tr("Resume at another number of GPUs or in another stage");
    case NextStepId::Convert:
        return NextStepsList::tr("Convert to a universal folder");
    case NextStepId::Export:
        return NextStepsList::tr("Export weights");
    case NextStepId::Compare:
        return NextStepsList::tr("Compare with another checkpoint");
    case NextStepId::Verify:
        return NextStepsList::tr("Verify what Shardscope wrote");
    }
    return {};
}

QString iconOf(NextStepId step)
{
    switch (step) {
    case NextStepId::Resume:
    case NextStepId::Convert:
        return u"reshard"_s;
    case NextStepId::Export:
        return u"export"_s;
    case NextStepId::Compare:
        return u"compare"_s;
    default:
        return u"check"_s;
    }
}

} // namespace

NextStepsList::NextStepsList(io::FileSystem& files, const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_files(files)
    , m_theme(theme)
    , m_grid(new QGridLayout(this))
{
    setObjectName(u"nextSteps"_s);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(8);
    m_grid->setVerticalSpacing(3);
    m_grid->setColumnStretch(1, 1);
}

void NextStepsList::clear()
{
    m_asker.cancel();
    m_steps.clear();
    while (QLayoutItem* item = m_grid->takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

void NextStepsList::showText(const QString& text)
{
    clear();
    auto* label = new QLabel(text, this);
    label->setObjectName(u"nextStepsText"_s);
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::PlaceholderText);
    m_grid->addWidget(label, 0, 0, 1, 2);
}

void NextStepsList::show(
    const PlacedCheckpoint& shown, const std::shared_ptr<const std::vector<Finding>>& found)
{
    showText(tr("Asking what can be planned…"));
    m_asker.run<Answers>(
        [&files = m_files, checkpoint = shown.checkpoint, at = OpenedAt{shown.place.path, shown.place.open},
            found](const std::stop_token& token, const std::function<void(Answers)>& deliver) {
            JobContext job(token);
            deliver({nextSteps(files, at, checkpoint, *found, job),
                readingJobs(files, *checkpoint).whyNotVerify.empty()});
        },
        [this](Answers answers) { fill(std::move(answers)); });
}

void NextStepsList::fill(Answers answers)
{
    clear();
    m_steps = std::move(answers.steps);
    int row = 0;
    std::set<std::string> said; ///< reasons
    const auto addLink = [&](const QString& text, NextStepId id) {
        auto* link = new LinkButton(text, this);
        link->setObjectName(u"nextStep"_s);
        connect(link, &QAbstractButton::clicked, this, [this, id] { Q_EMIT chosen(id); });
        m_grid->addWidget(link, row, 1);
    };
    const auto addNote = [&](const QString& text, const QString& name) {
        auto* note = new QLabel(text, this);
        note->setObjectName(name);
        note->setTextFormat(Qt::PlainText);
        note->setWordWrap(true);
        note->setTextInteractionFlags(Qt::TextSelectableByMouse);
        note->setForegroundRole(QPalette::PlaceholderText);
        m_grid->addWidget(note, row, 1);
    };
    for (const NextStep& step : m_steps) {
        auto* icon = new QLabel(this);
        icon->setPixmap(
            themedIcon(m_theme, iconOf(step.id), step.isPossible() ? ThemeRole::Accent : ThemeRole::MutedText)
                .pixmap(iconSize(16), devicePixelRatioF()));
        m_grid->addWidget(icon, row, 0, Qt::AlignTop);
        if (step.isPossible()) {
            addLink(step.isOptional ? tr("%1 (optional)").arg(nameOf(step.id)) : nameOf(step.id), step.id);
            if (!step.whyNotAtOnce.empty()) {
                ++row;
                addNote(tr("Not with the default settings: %1").arg(factText(step.whyNotAtOnce)),
                    u"nextStepNote"_s);
            } else if (step.isUnplanned) {
                ++row;
                addNote(tr("Not planned yet: only reading every byte again shows whether it can be done."),
                    u"nextStepNote"_s);
            }
        } else {
            const bool isNew = said.insert(step.whyNot).second; // a long reason stands there once
            addNote(isNew ? tr("%1: no. %2").arg(nameOf(step.id), sentenceText(step.whyNot))
                          : tr("%1: no, for the same reason").arg(nameOf(step.id)),
                u"nextStepReason"_s);
            if (step.id == NextStepId::Verify && answers.hasChecksums) { // that is what can be verified
                ++row;
                addLink(tr("Verify only its checksums and structure"), step.id);
            }
        }
        ++row;
    }
}

} // namespace shardscope::ui
