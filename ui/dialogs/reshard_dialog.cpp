// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_dialog.h"

#include "core/plan/reshard/reshard_advice.h"
#include "ui/dialogs/batch_choices.h"
#include "ui/dialogs/reshard_maps.h"
#include "ui/jobs/free_later.h"
#include "ui/models/whole_groups.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

QString gpusText(const QString& pattern, uint32_t ranks)
{
    return pattern.arg(
        ranks == 1 ? ReshardDialog::tr("1 GPU") : ReshardDialog::tr("%1 GPUs").arg(countText(ranks)));
}

QString withSubGroups(const QString& title, size_t subGroups)
{
    return subGroups > 1 ? title % u" · "_s % ReshardDialog::tr("%1 sub-groups").arg(countText(subGroups))
                         : title;
}

QString nowText(const Checkpoint& source)
{
    if (isUniversal(source.kind))
        return ReshardDialog::tr("Now: universal folder");
    if (isConverted(source.kind))
        return ReshardDialog::tr("Now: distributed checkpoint");
    return gpusText(ReshardDialog::tr("Now: %1"), source.parallel.ranks());
}

QString pythonText(const std::string& text)
{
    QString out = toText(text);
    out.replace(u'\\', u"\\\\"_s).replace(u'"', u"\\\""_s);
    return u'"' % out % u'"';
}

/// What a training script calls in place of engine.load_checkpoint().
QString loadLine(const io::Path& folder, const std::string& tag)
{
    const QString more = tag.empty() ? QString() : u", tag="_s % pythonText(tag);
    return u"from shardscope.deepspeed import load_checkpoint; load_checkpoint(engine, "_s
        % pythonText(folder.string()) % more % u')';
}

} // namespace

ReshardDialog::ReshardDialog(io::FileSystem& files, const PlacedCheckpoint& source, const WriteHistory& known,
    Theme& theme, QWidget* parent)
    : PlanDialogOf(
        files, source, known, theme, {u"reshard"_s, tr("Reshard %1"), u"resharding"_s, {1120, 820}}, parent)
    , m_batch(new BatchChoices(m_facts))
{
    m_facts->addTab(m_batch, tr("Keep the batch size"));
    m_equal = addText(u"reshardEqual"_s, tr("Config must match"));
    m_maps = new ReshardMaps(theme, this);
    auto* below = new QWidget(this);
    auto* rows = new QVBoxLayout(below);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->addWidget(m_maps, 1);
    rows->addLayout(makeLiveRow());
    makeFoot(form(), known.writeRate, below);
    connect(m_messages, &MessageBar::actionTriggered, this, &ReshardDialog::help);
    showSource();
}

QLayout* ReshardDialog::makeLiveRow()
{
    const Checkpoint& from = source();
    auto* line = new CommandLine(m_theme, u"reshardLive"_s, this, tr("Python code that loads without a copy"),
        tr("Copy the Python code"));
    line->setCommand(loadLine(from.runFolder.empty() ? from.tagFolder : from.runFolder,
        from.runFolder.empty() ? std::string() : from.tag));
    auto* says = new QLabel(tr("Only to resume, &no copy is needed:"), this);
    says->setBuddy(line);
    auto* row = new QHBoxLayout;
    row->addWidget(says);
    row->addWidget(line, 1);
    return row;
}

void ReshardDialog::plan()
{
    if (!form()->wantsDistributed())
        return PlanDialogOf::plan();
    m_wish.reset();
    setCommand({});
    take({});
    m_help = {&ReshardDialog::exportWanted};
    m_messages->showMessage(Severity::Info,
        tr("A distributed checkpoint has no ranks of its own: any number of GPUs loads it. The export "
           "writes it."),
        {tr("&Export…")});
}

QStringList ReshardDialog::helpFor(const Error& problem)
{
    m_help.clear();
    if (m_preview.plan || (problem.code != ErrorCode::Refused && problem.code != ErrorCode::Damaged))
        return {};
    m_help = {&ReshardDialog::repairWanted};
    if (source().complete)
        return {tr("&Repair…")};
    m_help.push_back(&ReshardDialog::furtherFolderWanted);
    return {tr("&Repair…"), tr("&Add Folder…")};
}

void ReshardDialog::help(int action)
{
    const Help wanted = m_help.at(static_cast<size_t>(action));
    reject();
    Q_EMIT(this->*wanted)();
}

void ReshardDialog::showSource()
{
    m_maps->setBefore({nullptr, nullptr, nowText(source()), {}}); // until it is made
    m_merger.run<ReshardMaps::Side>(
        [source = m_source.checkpoint](
            const std::stop_token&, const std::function<void(ReshardMaps::Side)>& deliver) {
            // The plan's map has no tensors that every rank keeps whole either.
            auto shown
                = std::make_shared<Checkpoint>(hasSplitGroups(*source) ? *withWholeGroups(*source) : *source);
            shown->whole.clear();
            size_t subGroups = 0;
            for (const ParamGroup& group : source->groups)
                subGroups = std::max(subGroups, subGroupsOf(*source, group));
            deliver({freedOnWorker<const Checkpoint>(shown), freedOnWorker(mapLooks(*shown)),
                withSubGroups(nowText(*source), subGroups), rankLoad(*source)});
        },
        [this](const ReshardMaps::Side& side) { m_maps->setBefore(side); });
}

void ReshardDialog::showTarget()
{
    const WritePlan* plan = m_preview.plan.get();
    QString title = tr("No plan");
    if (plan != nullptr)
        title = isUniversal(plan->reshard->kind)
            ? tr("Then: universal folder")
            : withSubGroups(gpusText(tr("Then: %1"), plan->reshard->worldSize), m_preview.subGroups);
    m_maps->setAfter({m_preview.target, m_preview.looks, title, m_preview.load});
}

void ReshardDialog::showMore()
{
    showTarget();
    m_batch->setPlan(
        m_preview.plan.get(), m_preview.target ? m_preview.target->parallel.dp : 1, globalBatch(source()));
    QStringList equal;
    if (m_preview.plan)
        for (const auto& [key, value] : m_preview.plan->reshard->mustStayEqual)
            equal.append(toText(key) % u" = "_s % toText(value));
    m_equal->setPlainText(m_preview.plan && equal.isEmpty()
            ? tr("No settings are known that must stay equal.")
            : equal.join(u'\n'));
}

} // namespace shardscope::ui
