// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/change_set_panel.h"

#include "core/far/far_path.h"
#include "ui/controls/table_setup.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"
#include "ui/widgets/command_line.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include <chrono>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr auto kTypingPause = std::chrono::milliseconds(150);
constexpr int kLeastRows = 4;

} // namespace

ChangeSetPanel::ChangeSetPanel(io::FileSystem& files, Theme& theme, QWidget* parent)
    : QFrame(parent)
    , m_files(files)
    , m_title(new QLabel(this))
    , m_masters(new QComboBox(this))
    , m_moments(new QComboBox(this))
    , m_donors(new QComboBox(this))
    , m_donor(new QLineEdit(m_donors))
    , m_values(new QLineEdit(this))
    , m_target(new QLineEdit(this))
    , m_choices(makeChoices())
    , m_changes(new QListWidget(this))
    , m_messages(new MessageBar(theme, this))
    , m_command(new CommandLine(theme, u"repairCommand"_s, this))
    , m_apply(new QPushButton(tr("&Apply to the Copy"), this))
{
    setObjectName(u"changeSet"_s);
    m_title->setObjectName(u"changeSetTitle"_s);
    m_title->setTextFormat(Qt::PlainText);
    m_title->setWordWrap(true); // else larger text makes the page wider than the window
    m_changes->setObjectName(u"changeList"_s);
    m_changes->setAccessibleName(tr("Changes to be made on the copy"));
    m_changes->setWordWrap(true);
    m_changes->setFrameShape(QFrame::NoFrame);
    keepRows(m_changes, kLeastRows);
    m_messages->setObjectName(u"changeSetMessages"_s);
    m_apply->setObjectName(u"repairApply"_s);
    m_target->setObjectName(u"repairTarget"_s);
    auto* label = new QLabel(tr("Write the &copy to"), this);
    label->setBuddy(m_target);
    auto* choose = new QPushButton(tr("B&rowse…"), this);
    choose->setObjectName(u"repairTargetBrowse"_s);
    auto* foot = new QHBoxLayout;
    foot->addWidget(label);
    foot->addWidget(m_target, 1);
    foot->addWidget(choose);
    foot->addWidget(m_apply);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 8, 12, 8);
    rows->setSpacing(6);
    rows->addWidget(m_title);
    rows->addWidget(m_choices);
    rows->addWidget(m_messages);
    rows->addWidget(m_changes, 1);
    rows->addLayout(foot);
    rows->addWidget(m_command);
    m_pause.setSingleShot(true);
    m_pause.setInterval(kTypingPause);
    connect(&m_pause, &QTimer::timeout, this, &ChangeSetPanel::plan);
    connect(m_apply, &QPushButton::clicked, this, [this] { apply(target()); });
    connect(choose, &QPushButton::clicked, this, [this] {
        askForPath(this,
            {.name = u"repairFolderDialog"_s,
                .title = tr("Choose the Run Folder to Write the Repaired Copy Into")},
            [this](const QString& folder) { m_target->setText(folder); });
    });
    connect(m_target, &QLineEdit::textChanged, this, &ChangeSetPanel::planSoon);
    hide();
}

QWidget* ChangeSetPanel::makeChoices()
{
    auto* choices = new QWidget(this);
    m_masters->setObjectName(u"repairMasters"_s);
    m_masters->setAccessibleName(tr("Where lost masters come from"));
    m_masters->addItem(tr("Masters: 16-bit copies, else a donor"));
    m_masters->addItem(tr("Masters: 16-bit copies"));
    m_masters->addItem(tr("Masters: a donor"));
    m_moments->setObjectName(u"repairMoments"_s);
    m_moments->setAccessibleName(tr("Where lost optimizer states come from"));
    m_moments->addItem(tr("Moments: a donor, else zeros"));
    m_moments->addItem(tr("Moments: zeros"));
    m_moments->addItem(tr("Moments: a donor"));
    m_donors->setObjectName(u"repairDonors"_s);
    m_donors->setEditable(true);
    m_donors->setInsertPolicy(QComboBox::NoInsert);
    m_donors->setLineEdit(m_donor);
    m_donors->setAccessibleName(tr("Donor: another tag of the run, or a folder"));
    m_donors->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_donors->setMinimumContentsLength(18);
    m_donor->setObjectName(u"repairDonor"_s);
    m_donor->setAccessibleName(tr("Donor folder"));
    m_donor->setPlaceholderText(tr("Donor folder: the nearest complete tag"));
    m_donor->setClearButtonEnabled(true);
    auto* browse = new QPushButton(tr("&Browse…"), choices);
    browse->setObjectName(u"repairDonorBrowse"_s);
    m_values->setObjectName(u"repairValues"_s);
    m_values->setAccessibleName(tr("Other values to set on the copy"));
    m_values->setPlaceholderText(tr("Other values to set: step=1000; lr=1e-4; 1:weight_decay=0.0"));
    m_values->setClearButtonEnabled(true);
    auto* rows = new QVBoxLayout(choices);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(6);
    auto* line = new QHBoxLayout;
    auto* second = new QHBoxLayout;
    rows->addLayout(line);
    rows->addLayout(second);
    for (QComboBox* const box : {m_masters, m_moments}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        box->setMinimumContentsLength(14); // where there is no room for more
        box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }
    line->addWidget(m_masters, 6); // whose text is longer
    line->addWidget(m_moments, 5);
    second->addWidget(m_donors, 1);
    second->addWidget(browse);
    second->addWidget(m_values, 1);
    connect(m_masters, &QComboBox::currentIndexChanged, this, &ChangeSetPanel::planSoon);
    connect(m_moments, &QComboBox::currentIndexChanged, this, &ChangeSetPanel::planSoon);
    connect(m_donor, &QLineEdit::textChanged, this, &ChangeSetPanel::planSoon);
    connect(m_values, &QLineEdit::textChanged, this, &ChangeSetPanel::planSoon);
    connect(browse, &QPushButton::clicked, this, [this] {
        askForPath(this,
            {.name = u"repairDonorDialog"_s, .title = tr("Choose Another Checkpoint of the Run")},
            [this](const QString& folder) { m_donor->setText(folder); });
    });
    connect(m_donors, &QComboBox::activated, this,
        [this](int choice) { m_donor->setText(m_donors->itemData(choice).toString()); });
    return choices;
}

void ChangeSetPanel::listDonors()
{
    if (std::exchange(m_donorsListed, true))
        return;
    m_donorFinder.run<std::vector<DonorChoice>>(
        [&files = m_files, place = m_place](
            const std::stop_token& token, const std::function<void(std::vector<DonorChoice>)>& deliver) {
            deliver(ui::listDonors(files, place, token));
        },
        [this](const std::vector<DonorChoice>& donors) { showDonors(donors); });
}

void ChangeSetPanel::showDonors(const std::vector<DonorChoice>& donors)
{
    const QString typed = m_donor->text();
    const QSignalBlocker quiet(m_donors);
    m_donors->clear();
    m_donors->addItem(
        donors.empty() ? tr("The run has no other tag") : tr("The nearest complete tag"), QString());
    for (const DonorChoice& donor : donors) {
        m_donors->addItem(donor.text, donor.folder);
        m_donors->setItemData(m_donors->count() - 1, donor.folder, Qt::ToolTipRole);
    }
    m_donors->setCurrentIndex(-1);
    m_donor->setText(typed);
}

void ChangeSetPanel::setPlace(const CheckPlace& place)
{
    m_place = place;
    m_donorFinder.cancel();
    m_donorsListed = false;
    showDonors({});
    const io::Path run = place.tagFolder.empty() ? place.path : place.tagFolder.parent_path();
    m_target->setText(QString::fromStdString(proposedBeside(run).native()) % u"-repaired"_s);
}

void ChangeSetPanel::setTarget(const QString& folder)
{
    m_target->setText(folder);
}

QString ChangeSetPanel::target() const
{
    return m_target->text().trimmed();
}

void ChangeSetPanel::setFixes(const std::set<std::string>& codes)
{
    m_codes = codes;
    setVisible(!codes.empty());
    if (!codes.empty())
        listDonors();
    planSoon();
}

RepairOptions ChangeSetPanel::options() const
{
    RepairOptions out;
    out.fixes.assign(m_codes.begin(), m_codes.end());
    out.donor = toPath(m_donor->text().trimmed()).native();
    out.masters = static_cast<RepairOptions::Masters>(m_masters->currentIndex());
    out.moments = static_cast<RepairOptions::Moments>(m_moments->currentIndex());
    const QStringList values = m_values->text().split(u';', Qt::SkipEmptyParts);
    for (const QString& value : values) {
        if (const QString text = value.trimmed(); !text.isEmpty())
            out.values.push_back(text.toStdString());
    }
    return out;
}

void ChangeSetPanel::planSoon()
{
    for (QComboBox* const box : {m_masters, m_moments}) // the text may have no room
        box->setToolTip(box->accessibleName() % u'\n' % box->currentText());
    m_planner.cancel();
    m_preview = {};
    Q_EMIT planChanged({});
    m_apply->setEnabled(false);
    m_changes->clear();
    m_messages->hide();
    if (m_codes.empty())
        return m_pause.stop();
    m_title->setText(tr("Change set: planning…"));
    m_command->setCommand(repairCommand(m_place, options(), target()));
    m_command->show();
    m_pause.start();
}

void ChangeSetPanel::plan()
{
    m_planner.run<PlanPreview>(
        [&files = m_files, place = m_place, options = options(),
            target = io::Path(far::typedPath(target().toStdString()))](
            const std::stop_token& token, const std::function<void(PlanPreview)>& deliver) {
            deliver(previewRepair(files, place, options, target, token));
        },
        [this](PlanPreview preview) { show(std::move(preview)); });
}

void ChangeSetPanel::show(PlanPreview preview)
{
    m_preview = std::move(preview);
    Q_EMIT planChanged(m_preview.plan != nullptr);
    m_apply->setEnabled(m_preview.plan != nullptr && !m_preview.problem);
    m_command->setVisible(!m_preview.problem); // else it would fail
    if (m_preview.problem)
        m_messages->showError(*m_preview.problem);
    if (!m_preview.plan)
        return m_title->setText(tr("Change set: these settings cannot repair it."));
    const std::vector<RepairChange>& changes = m_preview.plan->repair->changes;
    size_t counted = 0;
    const RepairChange* whole = nullptr;
    for (const RepairChange& change : changes) {
        // Where the values come from is a detail of what is rebuilt.
        const bool isDetail
            = whole != nullptr && change.reconstructed && !whole->reconstructed && change.code == whole->code;
        if (!isDetail)
            whole = &change;
        m_changes->addItem(isDetail ? QString(u"      "_s % changeText(change)) : changeText(change));
        counted += isDetail ? 0 : 1;
    }
    const QString count = counted == 1 ? tr("1 change") : tr("%1 changes").arg(countText(counted));
    m_title->setText(tr("Change set: %1 on a copy. %2. The source stays as it is.")
                         .arg(count, planSummary(*m_preview.plan, {})));
}

void ChangeSetPanel::apply(const QString& folder)
{
    if (m_preview.plan && !m_preview.problem && !folder.isEmpty())
        Q_EMIT applyRequested(m_preview.plan, folder);
}

} // namespace shardscope::ui
