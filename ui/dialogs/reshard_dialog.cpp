// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_dialog.h"

#include "core/plan/reshard/planned_checkpoint.h"
#include "core/plan/reshard/reshard_advice.h"
#include "ui/dialogs/batch_choices.h"
#include "ui/dialogs/load_curves.h"
#include "ui/dialogs/reshard_maps.h"
#include "ui/jobs/free_later.h"
#include "ui/models/whole_groups.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QTabWidget>
#include <QToolButton>
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
    return subGroups > 0 ? title % u" · "_s
            % ReshardDialog::tr("%1 sub-groups, each group drawn as one").arg(countText(subGroups))
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
    : PlanDialogOf(files, source, known, theme,
        {u"reshard"_s, tr("Reshard %1"), u"resharding"_s, {1720, 1100}, 2}, parent)
    , m_batch(new BatchChoices(m_facts))
{
    m_facts->addTab(m_batch, tr("Keep the batch size"));
    m_equal = addText(u"reshardEqual"_s, tr("Config must match"));
    m_maps = new ReshardMaps(theme, m_facts);
    m_facts->insertTab(0, m_maps, tr("Picture"));
    m_facts->setCurrentIndex(0);
    addWidthButton(); // before the order of Tab is made
    m_livePart = makeLivePart();
    m_livePart->setVisible(source.checkpoint->complete); // until there is a plan
    makeFoot(form(), known.writeRate, m_livePart);
    showSource();
}

/// Names in small blocks need the room of the form, too.
void ReshardDialog::addWidthButton()
{
    auto* button = new QToolButton(this);
    button->setObjectName(u"reshardFullWidth"_s);
    button->setText(tr("F&ull Width"));
    button->setToolTip(tr("Hides the choices, so that the maps have all of the dialog"));
    button->setCheckable(true);
    connect(button, &QToolButton::toggled, this, [this](bool isFull) { m_choices->setHidden(isFull); });
    m_maps->addButton(button);
}

QWidget* ReshardDialog::makeLivePart()
{
    const Checkpoint& from = source();
    auto* part = new QWidget(this);
    auto* line = new CommandLine(m_theme, u"reshardLive"_s, part, tr("Python code that loads without a copy"),
        tr("Copy the Python code"));
    line->setCommand(loadLine(from.runFolder.empty() ? from.tagFolder : from.runFolder,
        from.runFolder.empty() ? std::string() : from.tag));
    auto* says = new QLabel(tr("Only to resume, &no copy is needed:"), part);
    says->setWordWrap(true);
    says->setBuddy(line);
    auto* rows = new QVBoxLayout(part);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(4);
    rows->addWidget(says);
    rows->addWidget(line);
    return part;
}

/// Loading without a copy plans the same, so it is refused with it. Where the copy would be written has no
/// effect on it.
void ReshardDialog::showLivePart()
{
    const std::optional<Error>& problem = m_preview.problem;
    m_livePart->setVisible(m_preview.plan || !problem || problem->code == ErrorCode::Usage);
}

void ReshardDialog::plan()
{
    if (form()->wantsDistributed())
        planExportOf(form()->exportWish());
    else
        PlanDialogOf::plan();
}

/// A distributed checkpoint is an export, which has the same target, files and way to run.
void ReshardDialog::planExportOf(const ExportWish& wish)
{
    m_wish.emplace();
    static_cast<PlanWish&>(*m_wish) = wish;
    setCommand(commandOf(sourceWords(*m_source.checkpoint, m_source.place), wish));
    m_planner.run<ReshardPreview>(
        [&files = m_files, source = m_source.checkpoint, wish](
            const std::stop_token& token, const std::function<void(ReshardPreview)>& deliver) {
            ReshardPreview preview;
            static_cast<PlanPreview&>(preview) = previewOf(files, source, wish, token);
            deliver(std::move(preview));
        },
        [this](ReshardPreview preview) { take(std::move(preview)); });
}

bool ReshardDialog::isDrawing() const
{
    return m_merger.isRunning() || m_curves.isRunning() || m_maps->isBusy();
}

void ReshardDialog::follow(ParamId param, std::optional<uint32_t> rank)
{
    m_maps->follow(param, rank);
}

void ReshardDialog::showSource()
{
    m_maps->setBefore({nullptr, nullptr, nowText(source()), {}}); // until it is made
    m_merger.run<ReshardMaps::Side>(
        [source = m_source.checkpoint](
            const std::stop_token&, const std::function<void(ReshardMaps::Side)>& deliver) {
            // The plan's map has no tensors that every rank keeps whole either.
            auto shown
                = std::make_shared<Checkpoint>(hasSubGroups(*source) ? *withWholeGroups(*source) : *source);
            shown->whole.clear();
            deliver({freedOnWorker<const Checkpoint>(shown), freedOnWorker(mapLooks(*shown)),
                withSubGroups(nowText(*source), subGroupsOf(*source)), rankLoad(*source)});
        },
        [this](const ReshardMaps::Side& side) { m_maps->setBefore(side); });
}

void ReshardDialog::showTarget()
{
    const WritePlan* plan = m_preview.plan.get();
    QString title = tr("No plan");
    if (plan != nullptr && !plan->reshard)
        title = tr("Then: distributed checkpoint, which has no ranks: any number of GPUs loads it");
    else if (plan != nullptr)
        title = isUniversal(plan->reshard->kind)
            ? tr("Then: universal folder")
            : withSubGroups(gpusText(tr("Then: %1"), plan->reshard->worldSize), m_preview.subGroups);
    m_maps->setAfter({m_preview.target, m_preview.looks, title, m_preview.load});
}

/// For another number of GPUs alone they stay as they are.
void ReshardDialog::showCurves()
{
    const WritePlanPtr& plan = m_preview.plan;
    form()->curves()->setExpected(plan != nullptr || !m_preview.problem);
    if (!plan || !plan->reshard)
        return;
    const ReshardFacts& facts = *plan->reshard;
    const ParallelDegrees& degrees = facts.laidOut->parallel;
    const CurveFacts now{
        facts.kind, facts.subGroupSize.value_or(0), degrees.tp, degrees.pp, facts.options.ep.value_or(0)};
    if (m_curvesFor == now)
        return;
    m_curvesFor = now;
    form()->curves()->setPoints({});
    m_curves.run<std::vector<LoadCurves::Point>>(
        [plan, steps = form()->rankSteps()](const std::stop_token& token,
            const std::function<void(std::vector<LoadCurves::Point>)>& deliver) {
            JobContext job(token);
            const auto loads = plannedLoads(*plan, std::vector<uint32_t>(steps.begin(), steps.end()), job);
            std::vector<LoadCurves::Point> points;
            for (size_t i = 0; i < steps.size(); ++i)
                points.push_back({steps[i], loads[i]});
            deliver(std::move(points));
        },
        [this](std::vector<LoadCurves::Point> points) { form()->curves()->setPoints(std::move(points)); });
}

void ReshardDialog::showMore()
{
    showTarget();
    showCurves();
    showLivePart();
    const bool isNative = m_preview.plan && m_preview.plan->reshard;
    m_batch->setPlan(isNative ? m_preview.plan.get() : nullptr,
        m_preview.target ? m_preview.target->parallel.dp : 1, globalBatch(source()));
    if (isNative)
        form()->showPlannedSubGroupSize(m_preview.plan->reshard->subGroupSize);
    QStringList equal;
    if (isNative)
        for (const auto& [key, value] : m_preview.plan->reshard->mustStayEqual)
            equal.append(toText(key) % u" = "_s % toText(value));
    m_equal->setPlainText(m_preview.plan && equal.isEmpty()
            ? tr("No settings are known that must stay equal.")
            : equal.join(u'\n'));
}

} // namespace shardscope::ui
