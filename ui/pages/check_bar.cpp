// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/check_bar.h"

#include "ui/controls/check_chooser.h"
#include "ui/controls/check_target_chooser.h"
#include "ui/session/findings/check_text.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/flow_layout.h"
#include "ui/widgets/focus_order.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// "names 0.01 s · headers 0.02 s".
QString tiersText(const CheckResult& result)
{
    QStringList parts;
    for (size_t i = 0; i < result.tiers.size(); ++i)
        if (result.tiers[i].done)
            parts.append(CheckBar::tr("%1 %2 s").arg(toText(checkDepthName(static_cast<CheckDepth>(i))),
                QLocale::c().toString(result.tiers[i].seconds, 'f', 2)));
    return parts.join(u" · "_s);
}

} // namespace

CheckBar::CheckBar(Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_check(new QPushButton(tr("&Check"), this))
    , m_depth(new QComboBox(this))
    , m_choose(new QToolButton(this))
    , m_for(new QToolButton(this))
    , m_stop(new QPushButton(tr("Stop"), this))
    , m_facts(new ElidedLabel(this))
    , m_save(new QToolButton(this))
{
    setObjectName(u"checkBar"_s);
    m_check->setObjectName(u"checkStart"_s);
    m_check->setAutoDefault(true);
    m_depth->setObjectName(u"checkDepth"_s);
    m_depth->setAccessibleName(tr("Depth of the check"));
    m_depth->setToolTip(tr("What is read. Each depth includes the ones before it."));
    for (const CheckDepth depth :
        {CheckDepth::Names, CheckDepth::Headers, CheckDepth::Metadata, CheckDepth::Bytes}) {
        QString text = depthText(depth);
        text[0] = text[0].toUpper();
        m_depth->addItem(text, static_cast<int>(depth));
    }
    m_depth->setCurrentIndex(static_cast<int>(CheckDepth::Metadata));
    m_choose->setObjectName(u"checkChoose"_s);
    m_choose->setFocusPolicy(Qt::StrongFocus);
    m_choose->setToolTip(tr("Choose which checks run"));
    m_for->setObjectName(u"checkFor"_s);
    m_for->setFocusPolicy(Qt::StrongFocus);
    m_for->setToolTip(tr("Also find what prevents a use: other GPUs, another stage, less memory"));
    m_stop->setObjectName(u"checkStop"_s);
    m_stop->setToolTip(tr("Keep what was found so far (Esc)"));
    m_facts->setObjectName(u"checkFacts"_s);
    m_facts->setWraps(true);
    m_facts->setForegroundRole(QPalette::PlaceholderText);
    m_save->setObjectName(u"checkSave"_s);
    m_save->setText(tr("&Save Report"));
    m_save->setPopupMode(QToolButton::InstantPopup);
    m_save->setFocusPolicy(Qt::StrongFocus);
    makeSaveMenu();

    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 8, 12, 6);
    rows->setSpacing(4);
    auto* controls = new QWidget(this);
    auto* line = new FlowLayout(controls);
    line->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(controls);
    rows->addWidget(m_facts);
    line->addWidget(m_check);
    line->addWidget(m_depth);
    line->addWidget(m_choose);
    line->addWidget(m_for);
    line->addWidget(m_stop);
    line->addWidget(makeChips(theme));
    line->addWidget(m_save);
    handFocusTo(this, m_check);
    connect(m_check, &QPushButton::clicked, this, &CheckBar::checkRequested);
    connect(m_stop, &QPushButton::clicked, this, &CheckBar::stopRequested);
    connect(m_choose, &QToolButton::clicked, this, &CheckBar::choose);
    connect(m_for, &QToolButton::clicked, this, &CheckBar::chooseTarget);
    setSkipped({});
    setTarget({});
}

void CheckBar::makeSaveMenu()
{
    auto* menu = new QMenu(m_save);
    menu->setObjectName(u"checkSaveMenu"_s);
    const auto addForm = [this, menu](const QString& text, CheckReport form) {
        connect(
            menu->addAction(text), &QAction::triggered, this, [this, form] { Q_EMIT saveRequested(form); });
    };
    addForm(tr("As a &Page (HTML)…"), CheckReport::Html);
    addForm(tr("As &Markdown…"), CheckReport::Markdown);
    addForm(tr("As S&ARIF…"), CheckReport::Sarif);
    addForm(tr("As &JSON…"), CheckReport::Json);
    m_save->setMenu(menu);
}

QWidget* CheckBar::makeChips(Theme& theme)
{
    auto* chips = new QWidget(this);
    auto* line = new QHBoxLayout(chips);
    line->setContentsMargins(0, 0, 0, 0);
    line->setSpacing(4);
    const auto add = [&](Severity severity, const QString& name, const QString& icon, ThemeRole role) {
        auto* chip = new QToolButton(chips);
        chip->setObjectName(name);
        chip->setCheckable(true);
        chip->setChecked(true);
        chip->setFocusPolicy(Qt::StrongFocus);
        chip->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        chip->setIcon(themedIcon(theme, icon, role));
        m_chips[static_cast<size_t>(severity)] = chip;
        line->addWidget(chip);
        connect(chip, &QToolButton::toggled, this,
            [this, severity](bool on) { Q_EMIT shownChanged(severity, on); });
    };
    add(Severity::Error, u"checkErrors"_s, u"error"_s, ThemeRole::Error);
    add(Severity::Warning, u"checkWarnings"_s, u"warning"_s, ThemeRole::Warning);
    add(Severity::Info, u"checkNotes"_s, u"info"_s, ThemeRole::Info);
    return chips;
}

CheckDepth CheckBar::depth() const
{
    return static_cast<CheckDepth>(m_depth->currentData().toInt());
}

void CheckBar::setDepth(CheckDepth depth)
{
    m_depth->setCurrentIndex(m_depth->findData(static_cast<int>(depth)));
}

void CheckBar::choose()
{
    auto* chooser = new CheckChooser(m_checkpoint.get(), m_tiers, m_skipped, this);
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    connect(chooser, &CheckChooser::chosen, this, &CheckBar::setSkipped);
    chooser->open();
}

void CheckBar::chooseTarget()
{
    auto* chooser = new CheckTargetChooser(m_target, this);
    chooser->setAttribute(Qt::WA_DeleteOnClose);
    connect(chooser, &CheckTargetChooser::chosen, this, [this](const CheckTarget& target) {
        setTarget(target);
        if (!targetText(target).isEmpty() && depth() < CheckDepth::Metadata)
            setDepth(CheckDepth::Metadata); // what is needed to find what prevents the use
        Q_EMIT checkRequested();
    });
    chooser->open();
}

void CheckBar::setTarget(const CheckTarget& target)
{
    m_target = target;
    const QString use = targetText(target);
    const int widest = fontMetrics().averageCharWidth() * 40; // a folder may be long
    m_for->setText(use.isEmpty()
            ? tr("F&or any use…")
            : tr("F&or %1…")
                  .arg(fontMetrics().elidedText(use, Qt::ElideMiddle, widest).replace(u'&', u"&&"_s)));
}

void CheckBar::setSkipped(const std::vector<std::string>& codes)
{
    m_skipped = codes;
    m_choose->setText(codes.empty()
            ? tr("All c&hecks…")
            : tr("%1 of %2 c&hecks…")
                  .arg(countText(diagnoses().size() - codes.size()), countText(diagnoses().size())));
}

void CheckBar::show(const CheckRun& run, const CheckpointPtr& checkpoint, const std::array<size_t, 3>& counts)
{
    m_checkpoint = checkpoint;
    m_counts = counts;
    if (run.result())
        m_tiers = run.result()->tiers;
    setTarget(run.target()); // what is shown was looked for this use
    m_for->setEnabled(checkpoint && !run.isRunning());
    m_check->setEnabled(checkpoint && !run.isRunning());
    m_stop->setVisible(run.isRunning());
    m_stop->setEnabled(!run.isStopping());
    m_save->setEnabled(run.result() != nullptr);
    const std::array names{tr("Info"), tr("Warnings"), tr("Errors")};
    for (size_t i = 0; i < m_chips.size(); ++i) {
        m_chips[i]->setText(names[i] % u' ' % countText(counts[i]));
        m_chips[i]->setToolTip(tr("Show %1").arg(names[i].toLower()));
    }
    showProgress(run);
}

void CheckBar::showProgress(const CheckRun& run)
{
    QString text;
    if (run.isStopping())
        text = tr("Stopping…");
    else if (run.isRunning())
        text = tr("Checking %1…").arg(depthText(run.depth()));
    else if (run.result())
        text = (run.result()->stopped ? QString(tr("Stopped") % u" · "_s) : QString())
            % tiersText(*run.result());
    if (m_checkpoint && run.result() && !run.result()->stopped) {
        // The verdict, and then what it took.
        const bool everything = bytesNotRead(*m_checkpoint, run.depth()) == 0 || !run.skipped().empty();
        const QString verdict = checkedText(run, *m_checkpoint);
        const QString counts = findingCountText(m_counts, m_checkpoint->supported);
        text = everything ? QString(verdict % u": "_s % counts % u" · "_s % text)
                          : QString(text % u" · "_s % verdict);
    }
    if (run.isRunning() && run.progress().bytesTotal > 0)
        text += u' ' % bytesText(run.progress().bytesDone) % u" / "_s % bytesText(run.progress().bytesTotal);
    m_facts->setText(text);
}

} // namespace shardscope::ui
