// SPDX-License-Identifier: Apache-2.0
#include "ui/controls/check_chooser.h"

#include "ui/session/findings/check_text.h"
#include "ui/text/text.h"
#include "ui/widgets/window_fit.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLocale>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

enum Column { Name, Reads, Time, Code, kColumns };

QString readsText(const Checkpoint* checkpoint, CheckDepth depth)
{
    switch (depth) {
    case CheckDepth::Names:
        return CheckChooser::tr("no file");
    case CheckDepth::Headers:
        return CheckChooser::tr("a few bytes of each");
    case CheckDepth::Metadata:
        return CheckChooser::tr("all but values");
    case CheckDepth::Bytes:
        break;
    }
    // No byte is read for names, so these are all bytes.
    return checkpoint != nullptr ? bytesText(bytesNotRead(*checkpoint, CheckDepth::Names)) : QString();
}

QString timeText(const TierFacts& tier)
{
    return tier.done ? CheckChooser::tr("%1 s").arg(QLocale::c().toString(tier.seconds, 'f', 2))
                     : CheckChooser::tr("not measured");
}

} // namespace

CheckChooser::CheckChooser(const Checkpoint* checkpoint, const std::array<TierFacts, 4>& tiers,
    const std::vector<std::string>& skipped, QWidget* parent)
    : QDialog(parent)
    , m_tree(new QTreeWidget(this))
{
    setObjectName(u"checkChooser"_s);
    setWindowTitle(tr("Choose Checks"));
    resizeWithinScreen(this, {820, 640});
    m_tree->setObjectName(u"checkChoices"_s);
    m_tree->setAccessibleName(tr("Checks by what they read"));
    m_tree->setColumnCount(kColumns);
    m_tree->setHeaderLabels({tr("Check"), tr("Reads"), tr("Last time"), tr("Code")});
    m_tree->setUniformRowHeights(true);
    m_tree->header()->setStretchLastSection(false);
    m_tree->header()->setSectionResizeMode(Name, QHeaderView::Stretch);
    for (const int column : {Reads, Time, Code})
        m_tree->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    fill(checkpoint, tiers, skipped);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    QPushButton* all = buttons->addButton(tr("&All Checks"), QDialogButtonBox::ResetRole);
    all->setObjectName(u"checkChooseAll"_s);
    auto* rows = new QVBoxLayout(this);
    rows->addWidget(m_tree, 1);
    rows->addWidget(buttons);
    connect(all, &QPushButton::clicked, this, &CheckChooser::tickAll);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        Q_EMIT chosen(this->skipped());
        accept();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

void CheckChooser::fill(const Checkpoint* checkpoint, const std::array<TierFacts, 4>& tiers,
    const std::vector<std::string>& skipped)
{
    for (size_t tier = 0; tier < tiers.size(); ++tier) {
        const auto depth = static_cast<CheckDepth>(tier);
        QString title = depthText(depth);
        title[0] = title[0].toUpper();
        auto* group
            = new QTreeWidgetItem(m_tree, {title, readsText(checkpoint, depth), timeText(tiers[tier])});
        group->setFlags(group->flags() | Qt::ItemIsUserCheckable | Qt::ItemIsAutoTristate);
        for (const Diagnosis* diagnosis : diagnoses()) {
            if (diagnosis->depth != depth)
                continue;
            auto* item = new QTreeWidgetItem(
                group, {sentenceText(diagnosis->name), {}, {}, toText(diagnosis->code)});
            item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
            const bool off = std::find(skipped.begin(), skipped.end(), diagnosis->code) != skipped.end();
            item->setCheckState(Name, off ? Qt::Unchecked : Qt::Checked);
            item->setToolTip(Name, sentenceText(diagnosis->means.loading));
        }
        group->setHidden(group->childCount() == 0);
        group->setExpanded(true);
    }
    m_tree->setCurrentItem(m_tree->topLevelItem(0));
}

void CheckChooser::tickAll()
{
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i)
        m_tree->topLevelItem(i)->setCheckState(Name, Qt::Checked);
}

std::vector<std::string> CheckChooser::skipped() const
{
    std::vector<std::string> codes;
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* group = m_tree->topLevelItem(i);
        for (int j = 0; j < group->childCount(); ++j) {
            if (group->child(j)->checkState(Name) == Qt::Unchecked)
                codes.push_back(group->child(j)->text(Code).toStdString());
        }
    }
    return codes;
}

} // namespace shardscope::ui
