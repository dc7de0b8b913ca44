// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/source_choices.h"

#include "core/plan/target/elastic_options.h"
#include "core/plan/target/expert_degree.h"
#include "ui/dialogs/plan_form.h"
#include "ui/text/text.h"
#include "ui/widgets/changed_value.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSpinBox>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxDegree = 4096;

QSpinBox* makeDegree(const QString& name, const QString& prefix, uint32_t value, QWidget* parent)
{
    auto* degree = new QSpinBox(parent);
    degree->setObjectName(name);
    degree->setPrefix(prefix % u' ');
    degree->setRange(1, kMaxDegree);
    degree->setValue(static_cast<int>(value));
    return degree;
}

} // namespace

SourceChoices::SourceChoices(CheckpointPtr source, QWidget* form)
    : QObject(form)
    , m_source(std::move(source))
    , m_degrees(new QWidget(form))
    , m_slices(makeDegree(u"reshardTp"_s, u"tp"_s, m_source->parallel.tp, m_degrees))
    , m_stages(makeDegree(u"reshardPp"_s, u"pp"_s, m_source->parallel.pp, m_degrees))
    , m_patterns(makePatternsField(u"reshard"_s, form))
    , m_experts(makeDegree(u"reshardExperts"_s, u"ep"_s, m_source->parallel.ep, m_degrees))
    , m_vocabulary(makeField(u"reshardVocabulary"_s, tr("as the source"),
          tr("Rows of the vocabulary tensors, padding included, over all tensor slices; needed when the "
             "source "
             "has padding"),
          form))
    , m_layers(makeField(u"reshardLayers"_s, tr("0,4,7 for seven layers in two stages"),
          tr("The first layer of every stage, and then the number of all layers: `module.parts` of the new "
             "run's PipelineModule"),
          form))
    , m_tied(makeField(u"reshardTied"_s, tr("embed=0,6"),
          tr("The layers that use a tied module, as KEY=LAYER,LAYER; separate several with spaces"), form))
    , m_stage0Form(new QComboBox(form))
    , m_options(new QLineEdit(form))
{
    fillDegrees();
    fillStage0Forms();
    fillOptions();
    for (QSpinBox* degree : {m_slices, m_stages, m_experts})
        onChangedValue(degree, this, [this] { Q_EMIT changed(); });
    for (QLineEdit* field : {m_patterns->line(), m_vocabulary, m_layers, m_tied, m_options})
        connect(field, &QLineEdit::textChanged, this, &SourceChoices::changed);
    connect(m_stage0Form, &QComboBox::currentIndexChanged, this, &SourceChoices::changed);
}

void SourceChoices::addRows(QFormLayout* rows)
{
    m_rows = rows;
    rows->addRow(tr("&Parallel ranks"), m_degrees);
    rows->addRow(tr("Patter&ns"), m_patterns);
    rows->addRow(tr("Vocabulary ro&ws"), m_vocabulary);
    rows->addRow(tr("&Layers of stages"), m_layers);
    rows->addRow(tr("Tie&d layers"), m_tied);
    rows->addRow(tr("&Optimizer form"), m_stage0Form);
    rows->addRow(tr("Opt&ions"), m_options);
}

void SourceChoices::fillDegrees()
{
    m_slices->setAccessibleName(tr("Tensor slices of the result"));
    m_slices->setToolTip(tr("Tensor-parallel degree of the result; now %1").arg(m_source->parallel.tp));
    m_stages->setAccessibleName(tr("Pipeline stages of the result"));
    m_stages->setToolTip(tr("Pipeline-parallel degree of the result; now %1").arg(m_source->parallel.pp));
    m_experts->setAccessibleName(tr("Expert-parallel degree of the result"));
    if (m_source->parallel.ep > 1) {
        showExperts(true);
    } else { // many names are searched
        m_experts->setEnabled(false);
        m_experts->setToolTip(tr("Looking for experts…"));
        m_expertSearch.run<bool>(
            [source = m_source](const std::stop_token&, const std::function<void(bool)>& deliver) {
                deliver(hasExperts(*source));
            },
            [this](bool found) { showExperts(found); });
    }
    auto* row = new QHBoxLayout(m_degrees);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    for (QSpinBox* degree : {m_slices, m_stages, m_experts})
        row->addWidget(degree);
    row->addStretch();
    handFocusTo(m_degrees, m_slices);
}

void SourceChoices::showExperts(bool canChange)
{
    m_experts->setEnabled(canChange);
    m_experts->setToolTip(canChange
            ? tr("The “ep_size” of the run that will load the result; now %1").arg(m_source->parallel.ep)
            : tr("The checkpoint has no experts that ranks could share"));
}

void SourceChoices::fillStage0Forms()
{
    m_stage0Form->setObjectName(u"reshardStage0Form"_s);
    setCompact(m_stage0Form);
    m_stage0Form->setAccessibleName(tr("How a run without ZeRO keeps its optimizer"));
    m_stage0Form->setToolTip(
        tr("An engine without ZeRO wraps the optimizer by precision and optimizer type"));
    m_stage0Form->addItem(tr("as the source records"), static_cast<int>(CheckpointKind::Unknown));
    m_stage0Form->addItem(tr("torch: a run in fp32"), static_cast<int>(CheckpointKind::Torch));
    m_stage0Form->addItem(tr("fp16: 16 bits with FusedAdam"), static_cast<int>(CheckpointKind::Fp16));
    m_stage0Form->addItem(
        tr("fp16-unfused: 16 bits, other optimizers"), static_cast<int>(CheckpointKind::Fp16Unfused));
}

void SourceChoices::fillOptions()
{
    m_options->setObjectName(u"reshardOptions"_s);
    m_options->setAccessibleName(tr("Optimizer options that the source does not hold"));
    m_options->setPlaceholderText(tr("lr=1e-3; betas=(0.9, 0.95); 1:weight_decay=0.0"));
    m_options->setToolTip(
        tr("Elastic checkpoints hold no options of param groups. Separate several with semicolons. To set an "
           "option of one param group, put its number and a colon first."));
    m_patterns->line()->setAccessibleName(tr("File of patterns for merging tensor slices"));
    m_patterns->line()->setToolTip(
        tr("A JSON object with the keys of “universal_checkpoint_info” and lists of regular expressions"));
}

bool SourceChoices::changesSlices() const
{
    return slices() != m_source->parallel.tp;
}

bool SourceChoices::splitsStages() const
{
    return stages() != m_source->parallel.pp && stages() > 1;
}

void SourceChoices::showFor(std::optional<int> stage)
{
    m_rows->setRowVisible(m_degrees, stage.has_value());
    // A universal folder always has merged slices.
    m_rows->setRowVisible(m_patterns, stage ? changesSlices() : m_source->parallel.tp > 1);
    m_rows->setRowVisible(m_vocabulary, stage && changesSlices());
    m_rows->setRowVisible(m_layers, stage && splitsStages());
    m_rows->setRowVisible(m_tied, stage && splitsStages());
    m_rows->setRowVisible(m_stage0Form, stage == 0);
    m_rows->setRowVisible(m_options, lacksElasticOptions(*m_source));
}

uint32_t SourceChoices::slices() const
{
    return static_cast<uint32_t>(m_slices->value());
}

uint32_t SourceChoices::stages() const
{
    return static_cast<uint32_t>(m_stages->value());
}

QString SourceChoices::problem(std::optional<int> stage) const
{
    bool isNumber = true;
    const QString vocabulary = m_vocabulary->text().trimmed();
    if (stage && changesSlices() && !vocabulary.isEmpty() && vocabulary.toULongLong(&isNumber) == 0)
        return tr("The vocabulary rows must be a number such as 50304.");
    if (!stage || !splitsStages())
        return {};
    for (const QString& layer : m_layers->text().split(u',', Qt::SkipEmptyParts)) {
        layer.trimmed().toUInt(&isNumber);
        if (!isNumber)
            return tr("The layers of stages must be numbers, such as 0,4,7.");
    }
    return {};
}

void SourceChoices::applyDegrees(ReshardWish& wish) const
{
    ReshardOptions& options = wish.options;
    if (changesSlices()) {
        options.tp = slices();
        wish.patternsFile = toPath(m_patterns->path());
        if (const QString rows = m_vocabulary->text().trimmed(); !rows.isEmpty())
            options.paddedVocabulary = rows.toULongLong();
    }
    if (stages() != m_source->parallel.pp)
        options.pp = stages();
    if (splitsStages()) {
        for (const QString& layer : m_layers->text().split(u',', Qt::SkipEmptyParts))
            options.stageLayers.push_back(layer.trimmed().toUInt());
        for (const QString& tied : m_tied->text().split(u' ', Qt::SkipEmptyParts))
            options.tiedLayers.push_back(tied.toStdString());
    }
    if (const auto experts = static_cast<uint32_t>(m_experts->value()); experts != m_source->parallel.ep)
        options.ep = experts;
}

void SourceChoices::apply(std::optional<int> stage, ReshardWish& wish) const
{
    ReshardOptions& options = wish.options;
    for (const QString& option : m_options->text().split(u';', Qt::SkipEmptyParts)) {
        if (!option.trimmed().isEmpty())
            options.optimizerOptions.push_back(option.trimmed().toStdString());
    }
    if (!stage) {
        if (m_source->parallel.tp > 1)
            wish.patternsFile = toPath(m_patterns->path());
        return;
    }
    const auto form = static_cast<CheckpointKind>(m_stage0Form->currentData().toInt());
    if (stage == 0 && !isUnknown(form))
        options.stage0Form = form;
    applyDegrees(wish);
}

} // namespace shardscope::ui
