// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/reshard_form.h"

#include "core/base/text.h"
#include "core/checkpoint/model/model_states.h"
#include "core/plan/target/reshard_options.h"
#include "ui/dialogs/load_curves.h"
#include "ui/dialogs/source_choices.h"
#include "ui/text/text.h"
#include "ui/widgets/changed_value.h"
#include "ui/widgets/focus_order.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QSpinBox>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMaxRanks = 65536;
// Data of their entries; the others' is their stage.
constexpr int kUniversal = -1;
constexpr int kDistributed = -2;

/// The GPU counts of the slider: all up to 16, then four in each doubling, up to twice the present count.
std::vector<int> sliderSteps(uint32_t now)
{
    const int last = static_cast<int>(std::clamp<uint64_t>(uint64_t{now} * 2, 16, kMaxRanks));
    std::vector<int> steps;
    for (int ranks = 1; ranks <= 16; ++ranks)
        steps.push_back(ranks);
    for (int doubling = 16; doubling < last; doubling *= 2) {
        for (int quarter = 5; quarter <= 8 && doubling / 4 * quarter <= last; ++quarter)
            steps.push_back(doubling / 4 * quarter);
    }
    return steps;
}

} // namespace

ReshardForm::ReshardForm(const CheckpointPtr& source, const QString& lastTarget, QWidget* parent)
    : PlanForm(u"reshard"_s, source, lastTarget, parent)
    , m_choices(new SourceChoices(source, this))
    , m_form(new QComboBox(this))
    , m_ranks(new QSpinBox(this))
    , m_rankSlider(new QSlider(Qt::Horizontal, this))
    , m_curves(new LoadCurves(m_rankSlider, this))
    , m_rankSteps(sliderSteps(source->parallel.ranks()))
    , m_subGroup(new QLineEdit(this))
{
    const uint32_t now = source->parallel.ranks();
    m_ranks->setObjectName(u"reshardRanks"_s);
    m_ranks->setAccessibleName(tr("New GPU count"));
    m_ranks->setRange(1, kMaxRanks);
    m_ranks->setValue(static_cast<int>(now == 1 ? 2 : now * 2));
    m_ranks->setKeyboardTracking(true);
    m_rankSlider->setObjectName(u"reshardRankSlider"_s);
    m_rankSlider->setAccessibleName(tr("New GPU count"));
    m_rankSlider->setRange(0, static_cast<int>(m_rankSteps.size()) - 1);
    m_rankSlider->setPageStep(4);
    showRanks();
    m_subGroup->setObjectName(u"reshardSubGroup"_s);
    showPlannedSubGroupSize(source->subGroupSize); // without a record only the plan knows it
    m_subGroup->setToolTip(
        tr("stage3 “sub_group_size” of the run that will load the result, in elements per GPU"));
    m_form->setObjectName(u"reshardKind"_s);
    setCompact(m_form);
    m_form->setAccessibleName(tr("ZeRO stage or form of the result"));
    fillForms();
    makeLayout();
    suggest();
    connectWidgets();
    handFocusTo(this, m_ranks);
    m_ranks->setFocus();
    m_ranks->selectAll();
}

void ReshardForm::makeLayout()
{
    auto* ranks = new QGridLayout;
    m_ranks->setMinimumWidth(96);
    // The lowest of fixed heights limits a row of a grid, and with it the curves.
    m_rankSlider->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    ranks->setHorizontalSpacing(10);
    ranks->setColumnStretch(1, 1);
    ranks->addWidget(m_ranks, 0, 0);
    ranks->addWidget(m_rankSlider, 0, 1);
    ranks->addWidget(m_curves, 1, 1);
    if (!isConverted(m_source->kind))
        ranks->addWidget(new QLabel(tr("now %1").arg(countText(m_source->parallel.ranks())), this), 0, 2);
    m_rows->addRow(tr("&Result"), m_form);
    m_rows->addRow(tr("GPU&s"), ranks);
    static_cast<QLabel*>(m_rows->labelForField(ranks))->setBuddy(m_ranks);
    m_choices->addRows(m_rows);
    m_rows->addRow(tr("Su&b-group size"), m_subGroup);
    addTarget(tr("Target &folder"));
    m_tag = new QLineEdit(this);
    m_tag->setObjectName(u"reshardTag"_s);
    m_rows->addRow(tr("Ta&g"), m_tag);
    addVerify();
    m_latest = addSwitch(u"Latest"_s, tr("Write “latest” next to it"), true);
    addForce();
    showRows();
}

void ReshardForm::connectWidgets()
{
    connect(m_rankSlider, &QSlider::valueChanged, this,
        [this](int step) { m_ranks->setValue(m_rankSteps[static_cast<size_t>(step)]); });
    onChangedValue(m_ranks, this, [this] {
        showRanks();
        suggest();
        Q_EMIT changed();
    });
    connect(m_form, &QComboBox::currentIndexChanged, this, &ReshardForm::onFormChosen);
    connect(m_choices, &SourceChoices::changed, this, &ReshardForm::onFormChosen);
    connect(m_subGroup, &QLineEdit::textChanged, this, &ReshardForm::changed);
    connect(m_tag, &QLineEdit::textChanged, this, &ReshardForm::changed);
}

void ReshardForm::fillForms()
{
    const bool hasStage = !isConverted(m_source->kind) || m_source->zeroStage > 0;
    for (const int stage : {0, 1, 2, 3}) {
        QString text = stage == 0 ? tr("Without ZeRO (stage 0)") : tr("ZeRO-%1").arg(stage);
        if (stage == m_source->zeroStage && hasBf16Optimizer(m_source->kind))
            text = tr("BF16_Optimizer");
        if (stage == m_source->zeroStage && hasStage)
            text += isConverted(m_source->kind) ? tr(" (its source)") : tr(" (as now)");
        m_form->addItem(text, stage);
    }
    m_form->addItem(tr("Universal folder, for any stage and GPU count"), kUniversal);
    m_form->addItem(tr("Distributed checkpoint (DCP) of PyTorch"), kDistributed);
    m_form->setCurrentIndex(std::max(0, m_form->findData(hasStage ? m_source->zeroStage : 1)));
}

/// Shows only the rows of the selected result.
void ReshardForm::showRows()
{
    m_rows->setRowVisible(m_subGroup, stage() == 3);
    m_choices->showFor(stage());
    m_curves->setVisible(stage().has_value());
    m_rows->setRowVisible(m_tag, !wantsDistributed());
    m_rows->setRowVisible(m_latest, !wantsDistributed());
}

/// Moves the slider to the nearest of its counts, without a change of the count itself.
void ReshardForm::showRanks()
{
    const QSignalBlocker blocker(m_rankSlider);
    const auto next = std::lower_bound(m_rankSteps.begin(), m_rankSteps.end(), m_ranks->value());
    m_rankSlider->setValue(static_cast<int>(next - m_rankSteps.begin()));
}

bool ReshardForm::wantsDistributed() const
{
    return m_form->currentData().toInt() == kDistributed;
}

std::optional<int> ReshardForm::stage() const
{
    const int chosen = m_form->currentData().toInt();
    return chosen < 0 ? std::nullopt : std::optional(chosen);
}

bool ReshardForm::changesStage() const
{
    return isConverted(m_source->kind) || stage() != m_source->zeroStage;
}

void ReshardForm::onFormChosen()
{
    showRows();
    m_ranks->setEnabled(stage().has_value());
    m_rankSlider->setEnabled(stage().has_value());
    m_latest->setText(!stage() ? tr("Write “latest_universal” next to it") : tr("Write “latest” next to it"));
    suggest();
    Q_EMIT changed();
}

/// A tag and a target that say what is chosen.
void ReshardForm::suggest()
{
    if (wantsDistributed())
        return suggestTarget(u"-dcp"_s);
    ReshardOptions options;
    options.form = !stage() ? TargetForm::Universal : TargetForm::Native;
    m_tag->setPlaceholderText(toText(targetTag(*m_source, options)));
    if (!stage())
        return suggestTarget(u"-universal"_s);
    const QString change = !changesStage() ? QString()
        : stage() == 0                     ? u"-stage0"_s
                                           : QString(u"-zero"_s % QString::number(*stage()));
    const ParallelDegrees& now = m_source->parallel;
    QString degrees;
    if (m_choices->slices() != now.tp)
        degrees += u"-tp"_s % QString::number(m_choices->slices());
    if (m_choices->stages() != now.pp)
        degrees += u"-pp"_s % QString::number(m_choices->stages());
    const bool allData = m_choices->slices() == 1 && m_choices->stages() == 1;
    const QString ranks = allData ? u"-dp"_s : u"-gpus"_s;
    suggestTarget(change % degrees % ranks % QString::number(m_ranks->value()));
}

ExportWish ReshardForm::exportWish() const
{
    ReshardWish choices;
    m_choices->apply({}, choices); // slices are merged, as in a universal folder
    ExportWish wish;
    wish.options.format = ExportFormat::Dcp;
    wish.patternsFile = choices.patternsFile;
    readInto(wish);
    return wish;
}

void ReshardForm::setWorldSize(uint32_t ranks)
{
    m_ranks->setValue(static_cast<int>(ranks));
}

bool ReshardForm::readSubGroupSize(std::optional<uint64_t>& size) const
{
    QString text = m_subGroup->text().trimmed();
    text.remove(u',').remove(u' ');
    if (text.isEmpty() || stage() != 3)
        return true;
    bool isNumber = false;
    const double exact = text.toDouble(&isNumber); // configs write 1e9
    if (!isNumber || exact < 1 || exact > 1e18 || exact != static_cast<double>(static_cast<uint64_t>(exact)))
        return false;
    size = static_cast<uint64_t>(exact);
    return true;
}

QString ReshardForm::problem() const
{
    std::optional<uint64_t> size;
    return readSubGroupSize(size) ? m_choices->problem(stage())
                                  : tr("The sub-group size must be a number such as 1e9 or 500000000.");
}

void ReshardForm::showPlannedSubGroupSize(std::optional<uint64_t> size)
{
    if (!size || !m_subGroup->text().trimmed().isEmpty())
        return; // the placeholder says what an empty field stands for
    const QString number = countText(*size);
    m_subGroup->setPlaceholderText(m_source->subGroupSize == size ? tr("as now: %1").arg(number)
            : *size == kDefaultSubGroupSize                       ? tr("default: %1").arg(number)
                                                                  : tr("as recorded: %1").arg(number));
}

std::optional<ReshardWish> ReshardForm::wish() const
{
    ReshardWish wish;
    if (!problem().isEmpty() || !readSubGroupSize(wish.options.subGroupSize))
        return {};
    if (!stage()) {
        wish.options.form = TargetForm::Universal;
    } else {
        wish.options.worldSize = static_cast<uint32_t>(m_ranks->value());
        if (changesStage())
            wish.options.stage = stage();
    }
    m_choices->apply(stage(), wish);
    wish.options.tagOut = m_tag->text().trimmed().toStdString();
    wish.options.writePointer = m_latest->isChecked();
    readInto(wish);
    return wish;
}

void ReshardForm::setUniversal()
{
    m_form->setCurrentIndex(m_form->findData(kUniversal));
}

} // namespace shardscope::ui
