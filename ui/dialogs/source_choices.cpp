// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/source_choices.h"

#include "core/plan/target/elastic_options.h"
#include "core/plan/target/expert_degree.h"
#include "ui/text/text.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxExpertRanks = 4096;

} // namespace

SourceChoices::SourceChoices(CheckpointPtr source, QWidget* form)
    : QObject(form)
    , m_source(std::move(source))
    , m_parallel(new QComboBox(form))
    , m_patternsRow(new QWidget(form))
    , m_patterns(new QLineEdit(m_patternsRow))
    , m_experts(new QSpinBox(form))
    , m_stage0Form(new QComboBox(form))
    , m_options(new QLineEdit(form))
{
    fillParallel();
    fillExperts();
    fillStage0Forms();
    fillOptions();
    fillPatterns();
    connect(m_parallel, &QComboBox::currentIndexChanged, this, &SourceChoices::changed);
    connect(m_patterns, &QLineEdit::textChanged, this, &SourceChoices::changed);
    connect(m_experts, &QSpinBox::valueChanged, this, &SourceChoices::changed);
    connect(m_stage0Form, &QComboBox::currentIndexChanged, this, &SourceChoices::changed);
    connect(m_options, &QLineEdit::textChanged, this, &SourceChoices::changed);
}

void SourceChoices::addRows(QFormLayout* rows)
{
    m_rows = rows;
    rows->addRow(tr("&Parallel ranks"), m_parallel);
    rows->addRow(tr("Patter&ns"), m_patternsRow);
    rows->addRow(tr("&Expert ranks"), m_experts);
    rows->addRow(tr("&Optimizer form"), m_stage0Form);
    rows->addRow(tr("Opt&ions"), m_options);
}

void SourceChoices::fillParallel()
{
    const ParallelDegrees& degrees = m_source->parallel;
    m_parallel->setObjectName(u"reshardParallel"_s);
    m_parallel->setAccessibleName(tr("Tensor slices and pipeline stages of the result"));
    QStringList now;
    if (degrees.tp > 1)
        now.append(tr("%1 tensor slices").arg(degrees.tp));
    if (degrees.pp > 1)
        now.append(tr("%1 pipeline stages").arg(degrees.pp));
    m_parallel->addItem(tr("%1 (as now)").arg(now.join(u", "_s)), false);
    m_parallel->addItem(tr("merged into one"), true);
}

void SourceChoices::fillExperts()
{
    m_experts->setObjectName(u"reshardExperts"_s);
    m_experts->setAccessibleName(tr("Expert-parallel degree of the result"));
    m_experts->setToolTip(tr("The “ep_size” of the run that will load the result"));
    m_experts->setRange(1, kMaxExpertRanks);
    m_experts->setValue(static_cast<int>(m_source->parallel.ep));
}

void SourceChoices::fillStage0Forms()
{
    m_stage0Form->setObjectName(u"reshardStage0Form"_s);
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
}

void SourceChoices::fillPatterns()
{
    m_patterns->setObjectName(u"reshardPatterns"_s);
    m_patterns->setAccessibleName(tr("File of patterns for merging tensor slices"));
    m_patterns->setPlaceholderText(tr("as the checkpoint records"));
    m_patterns->setToolTip(
        tr("A JSON object with the keys of “universal_checkpoint_info” and lists of regular expressions"));
    auto* button = new QPushButton(tr("Browse…"), m_patternsRow);
    auto* row = new QHBoxLayout(m_patternsRow);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    row->addWidget(m_patterns, 1);
    row->addWidget(button);
    m_patternsRow->setFocusProxy(m_patterns);
    connect(button, &QPushButton::clicked, this, &SourceChoices::browse);
}

void SourceChoices::browse()
{
    auto* dialog = new QFileDialog(m_patternsRow, tr("File of Patterns"));
    dialog->setObjectName(u"reshardPatternsDialog"_s);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({tr("JSON (*.json)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, m_patterns, &QLineEdit::setText);
    dialog->open();
}

void SourceChoices::showFor(std::optional<int> stage)
{
    const ParallelDegrees& degrees = m_source->parallel;
    m_rows->setRowVisible(m_parallel, stage && (degrees.tp > 1 || degrees.pp > 1));
    // A universal folder always has merged slices.
    m_rows->setRowVisible(m_patternsRow, degrees.tp > 1 && (!stage || mergesSlices()));
    m_rows->setRowVisible(m_experts, stage && (degrees.ep > 1 || hasExperts(*m_source)));
    m_rows->setRowVisible(m_stage0Form, stage == 0);
    m_rows->setRowVisible(m_options, lacksElasticOptions(*m_source));
}

bool SourceChoices::mergesSlices() const
{
    return m_parallel->currentData().toBool();
}

void SourceChoices::apply(std::optional<int> stage, ReshardWish& wish) const
{
    ReshardOptions& options = wish.options;
    for (const QString& option : m_options->text().split(u';', Qt::SkipEmptyParts)) {
        if (!option.trimmed().isEmpty())
            options.optimizerOptions.push_back(option.trimmed().toStdString());
    }
    if (m_source->parallel.tp > 1 && (!stage || mergesSlices()))
        wish.patternsFile = toPath(m_patterns->text().trimmed());
    if (!stage)
        return;
    const auto form = static_cast<CheckpointKind>(m_stage0Form->currentData().toInt());
    if (stage == 0 && !isUnknown(form))
        options.stage0Form = form;
    if (mergesSlices() && m_source->parallel.tp > 1)
        options.tp = 1;
    if (mergesSlices() && m_source->parallel.pp > 1)
        options.pp = 1;
    if (const auto experts = static_cast<uint32_t>(m_experts->value()); experts != m_source->parallel.ep)
        options.ep = experts;
}

} // namespace shardscope::ui
