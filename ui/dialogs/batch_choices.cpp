// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/batch_choices.h"

#include "ui/text/text.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

BatchChoices::BatchChoices(QWidget* parent)
    : QWidget(parent)
    , m_about(new QLabel(this))
    , m_pairs(new QListWidget(this))
    , m_copy(new QPushButton(tr("&Copy Config Lines"), this))
{
    m_about->setObjectName(u"reshardBatchAbout"_s);
    m_about->setWordWrap(true);
    m_pairs->setObjectName(u"reshardBatch"_s);
    m_pairs->setAccessibleName(tr("Batch sizes that keep the global batch"));
    m_copy->setObjectName(u"reshardBatchCopy"_s);
    m_copy->setAutoDefault(false);
    m_copy->setToolTip(tr("Copies the batch sizes as lines of ds_config.json"));
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(8, 8, 8, 8);
    rows->setSpacing(6);
    rows->addWidget(m_about);
    rows->addWidget(m_pairs, 1);
    rows->addWidget(m_copy, 0, Qt::AlignLeft);
    connect(m_copy, &QPushButton::clicked, this, &BatchChoices::copy);
    connect(m_pairs, &QListWidget::itemActivated, this, &BatchChoices::copy);
    setPlan(nullptr, 1, {});
}

void BatchChoices::setPlan(const WritePlan* plan, uint32_t dataRanks, std::optional<uint64_t> recorded)
{
    const bool isAny = plan != nullptr && isUniversal(plan->reshard->kind);
    m_values = plan != nullptr && !isAny ? plan->reshard->batch : std::vector<BatchPair>{};
    m_dataRanks = dataRanks;
    m_pairs->clear();
    for (const BatchPair& pair : m_values)
        m_pairs->addItem(tr("micro-batch %1 × accumulation %2")
                             .arg(countText(pair.microBatch), countText(pair.accumulation)));
    const bool has = !m_values.empty();
    m_pairs->setVisible(has);
    m_copy->setVisible(has);
    if (has)
        m_pairs->setCurrentRow(0);
    m_about->setText(plan == nullptr ? QString()
            : isAny                  ? tr("Any run can load it, with any batch size.")
            : has
            ? tr("These keep the global batch of %1 on %2 data-parallel ranks:")
                  .arg(countText(m_values.front().microBatch * m_values.front().accumulation * dataRanks),
                      countText(dataRanks))
            : recorded
            ? tr("The global batch of %1 cannot be kept: it is no multiple of %2 data-parallel ranks.")
                  .arg(countText(*recorded), countText(dataRanks))
            : tr("The checkpoint does not record its batch sizes."));
}

QString BatchChoices::configLines() const
{
    const int row = m_pairs->currentRow();
    if (row < 0 || static_cast<size_t>(row) >= m_values.size())
        return {};
    const BatchPair& pair = m_values[static_cast<size_t>(row)];
    return u"\"train_batch_size\": %1,\n\"train_micro_batch_size_per_gpu\": %2,\n"
           u"\"gradient_accumulation_steps\": %3"_s.arg(pair.microBatch * pair.accumulation * m_dataRanks)
               .arg(pair.microBatch)
               .arg(pair.accumulation);
}

void BatchChoices::copy() const
{
    if (const QString lines = configLines(); !lines.isEmpty())
        QGuiApplication::clipboard()->setText(lines);
}

} // namespace shardscope::ui
