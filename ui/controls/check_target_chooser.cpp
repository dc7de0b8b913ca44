// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/check_target_chooser.h"

#include "ui/text/text.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/window_fit.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMostRanks = 1'000'000;
constexpr int kMostGib = 1 << 20;
constexpr int kGibShift = 30;
constexpr int kStages = 4;

} // namespace

CheckTargetChooser::CheckTargetChooser(const CheckTarget& target, QWidget* parent)
    : QDialog(parent)
    , m_ranks(new QSpinBox(this))
    , m_stage(new QComboBox(this))
    , m_memory(new QSpinBox(this))
    , m_disk(new PathField({.kind = PathQuestion::Kind::Folder,
                               .name = u"targetDiskDialog"_s,
                               .title = tr("Folder for Copies")},
          this))
{
    setObjectName(u"checkTargetChooser"_s);
    setWindowTitle(tr("Check for a Use"));
    m_ranks->setObjectName(u"targetRanks"_s);
    m_ranks->setRange(0, kMostRanks);
    m_ranks->setSpecialValueText(tr("any number"));
    m_ranks->setValue(static_cast<int>(target.worldSize.value_or(0)));
    m_stage->setObjectName(u"targetStage"_s);
    m_stage->addItem(tr("any"));
    for (int stage = 0; stage < kStages; ++stage)
        m_stage->addItem(stage == 0 ? tr("0 (without ZeRO)") : QString::number(stage), stage);
    m_stage->setCurrentIndex(target.stage ? *target.stage + 1 : 0);
    m_memory->setObjectName(u"targetMemory"_s);
    m_memory->setRange(0, kMostGib);
    m_memory->setSuffix(tr(" GiB"));
    m_memory->setSpecialValueText(tr("enough"));
    m_memory->setValue(static_cast<int>(target.memoryBytes.value_or(0) >> kGibShift));
    m_disk->setObjectName(u"targetDisk"_s);
    m_disk->line()->setPlaceholderText(tr("not checked"));
    if (target.disk)
        m_disk->line()->setText(pathText(*target.disk));

    auto* what = new QLabel(tr("Everything that prevents this use becomes a finding, too."), this);
    what->setWordWrap(true);
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("&GPUs"), m_ranks);
    form->addRow(tr("&ZeRO stage"), m_stage);
    form->addRow(tr("&Memory of the machine"), m_memory);
    form->addRow(tr("&Folder for copies"), m_disk);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    QPushButton* check = buttons->addButton(tr("&Check"), QDialogButtonBox::AcceptRole);
    check->setObjectName(u"targetCheck"_s);
    check->setDefault(true);
    QPushButton* any = buttons->addButton(tr("For &Any Use"), QDialogButtonBox::ResetRole);
    any->setObjectName(u"targetAny"_s);
    auto* rows = new QVBoxLayout(this);
    rows->addWidget(what);
    rows->addLayout(form);
    rows->addStretch();
    rows->addWidget(buttons);
    resizeWithinScreen(this, {520, 260});
    connect(any, &QPushButton::clicked, this, [this] {
        Q_EMIT chosen({});
        accept();
    });
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT chosen(this->target());
        accept();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

CheckTarget CheckTargetChooser::target() const
{
    CheckTarget out;
    if (m_ranks->value() > 0)
        out.worldSize = static_cast<uint32_t>(m_ranks->value());
    if (m_stage->currentIndex() > 0)
        out.stage = m_stage->currentData().toInt();
    if (m_memory->value() > 0)
        out.memoryBytes = static_cast<uint64_t>(m_memory->value()) << kGibShift;
    if (const QString disk = m_disk->path(); !disk.isEmpty())
        out.disk = toPath(disk);
    return out;
}

} // namespace shardscope::ui
