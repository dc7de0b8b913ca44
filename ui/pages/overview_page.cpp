// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/overview_page.h"

#include "ui/pages/findings_list.h"
#include "ui/pages/overview_cards.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/check_text.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/tag_list.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/card.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"

#include <QLabel>
#include <QListWidget>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageEntry OverviewPage::entry()
{
    return {PageId::Overview, u"overview"_s, u"actionOverview"_s, tr("Overview"), tr("&Overview"),
        u"overview"_s, u"getting-started"_s, &makePage<OverviewPage>};
}

OverviewPage::OverviewPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_messages(new MessageBar(context.theme, this))
    , m_scroll(new QScrollArea(this))
    , m_empty(makeEmpty(u"overviewEmpty"_s))
{
    m_empty->setText(tr("Open a checkpoint to see what it is."));
    setObjectName(u"overviewPage"_s);
    m_scroll->setObjectName(u"overviewScroll"_s);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* cards = new QWidget(m_scroll);
    cards->setObjectName(u"overviewCards"_s);
    auto* grid = new CardGrid(cards);
    const auto add = [&](const QString& name, const QString& title) {
        auto* card = new Card(context.theme, title, cards);
        card->setObjectName(name);
        grid->addWidget(card);
        return card;
    };
    m_identity = add(u"identityCard"_s, tr("Checkpoint"));
    m_sizes = add(u"sizesCard"_s, tr("Size on disk"));
    m_parameters = add(u"parametersCard"_s, tr("Parameters"));
    m_states = add(u"statesCard"_s, tr("Size by state"));
    m_steps = add(u"stepsCard"_s, tr("Training"));
    m_findings = add(u"findingsCard"_s, tr("Findings"));
    m_groups = add(u"groupsCard"_s, tr("Param groups"));
    m_tags = add(u"tagsCard"_s, tr("Tags of this run"));
    m_evidence = add(u"evidenceCard"_s, tr("How it was recognised"));
    m_tagList = new QListWidget(m_tags);
    m_tagList->setObjectName(u"tagList"_s);
    m_tagList->setAccessibleName(tr("Tags of this run"));
    m_tagList->setFrameShape(QFrame::NoFrame);
    m_tagList->setIconSize(QSize(16, 16));
    m_tagList->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    m_tagList->viewport()->setAutoFillBackground(false);
    m_tagList->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_tags->addWidget(m_tagList);
    m_findingsList = new FindingsList(context.theme, m_findings);
    m_findings->addWidget(m_findingsList);
    m_scroll->setWidget(cards);
    handFocusTo(this, m_scroll);

    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_messages);
    connect(m_messages, &MessageBar::actionTriggered, this, &OverviewPage::repairWanted);
    rows->addWidget(m_scroll, 1);
    rows->addWidget(m_empty, 1);
    connect(m_tagList, &QListWidget::itemActivated, this,
        [this](const QListWidgetItem* item) { Q_EMIT tagRequested(item->data(Qt::UserRole).toByteArray()); });
    connect(m_findingsList, &FindingsList::placeRequested, this, &OverviewPage::placeRequested);
    connect(&m_filling, &QTimer::timeout, this, &OverviewPage::fillNext);
    connect(&context.findings, &FindingStore::changed, this, &OverviewPage::showFindings);
    showCheckpoint();
}

void OverviewPage::showCheckpoint()
{
    const CheckpointPtr& checkpoint = m_checkpoint;
    const io::Path former = std::exchange(m_folder, checkpoint ? checkpoint->tagFolder : io::Path());
    const bool isSame = checkpoint && former == m_folder;
    m_filling.stop();
    m_left.clear();
    m_tagReader.cancel();
    m_scroll->setVisible(checkpoint != nullptr);
    m_empty->setVisible(checkpoint == nullptr);
    m_messages->hide();
    if (!isSame) { // a deeper reading of what is shown replaces it card by card
        for (Card* card : {m_identity, m_sizes, m_states, m_parameters, m_steps, m_groups, m_evidence})
            card->clear();
        m_tagList->clear(); // and what could be clicked
        m_findingsList->clear();
    }
    if (!checkpoint)
        return;
    const bool hasModel = !checkpoint->params.empty();
    for (Card* card : {m_states, m_parameters, m_steps, m_groups})
        card->setVisible(hasModel);
    fillLater(m_identity, [checkpoint](Card& card) { fillIdentity(card, *checkpoint); });
    fillLater(m_sizes, [this, checkpoint](Card& card) { fillSizes(card, *checkpoint, m_context.theme); });
    if (hasModel) {
        fillLater(
            m_states, [this, checkpoint](Card& card) { fillStateSizes(card, *checkpoint, m_context.theme); });
        fillLater(m_parameters, [checkpoint](Card& card) { fillParameters(card, *checkpoint); });
        fillLater(m_steps, [checkpoint](Card& card) { fillSteps(card, *checkpoint); });
        fillLater(m_groups, [checkpoint](Card& card) { fillGroups(card, *checkpoint); });
    }
    fillLater(m_evidence, [checkpoint](Card& card) { fillEvidence(card, *checkpoint); });
    m_left.push_back([this] {
        fillTags(*m_checkpoint);
        readTags();
    });
    m_left.push_back([this] { showFindings(); });
    m_filling.start();
}

/// One card an event: together they take too long with thousands of ranks.
void OverviewPage::fillLater(Card* card, std::function<void(Card&)> fill)
{
    m_left.push_back([card, fill = std::move(fill)] {
        card->clear();
        fill(*card);
    });
}

void OverviewPage::fillNext()
{
    const auto next = std::move(m_left.front());
    m_left.pop_front();
    if (m_left.empty())
        m_filling.stop();
    next();
}

void OverviewPage::showFindings()
{
    if (!m_checkpoint)
        return;
    QString state;
    const FindingStore& store = m_context.findings;
    if (store.run().isRunning() || !m_checkpoint->fullyRead)
        state = tr("Checking…");
    else if (store.isChecked(*m_checkpoint))
        state = checkedText(store.run(), *m_checkpoint);
    const FindingStore::Findings found = store.of(m_checkpoint);
    m_findingsList->setFindings(*found, state);
    summarise(*found);
}

void OverviewPage::fillTags(const Checkpoint& checkpoint)
{
    m_tagList->clear();
    m_tags->setVisible(!checkpoint.tags.empty());
    for (auto tag = checkpoint.tags.rbegin(); tag != checkpoint.tags.rend(); ++tag) {
        const bool latest = checkpoint.latest && *checkpoint.latest == *tag;
        const bool shown = *tag == checkpoint.tag;
        QString text = toText(*tag);
        if (latest)
            text += u"  · "_s % tr("latest");
        if (shown)
            text += u"  · "_s % tr("open");
        auto* item = new QListWidgetItem(
            themedIcon(m_context.theme, u"tag"_s, latest ? ThemeRole::Accent : ThemeRole::MutedText), text,
            m_tagList);
        item->setData(Qt::UserRole, QByteArray::fromStdString(*tag)); // which need not be UTF-8
        QFont font = item->font();
        font.setBold(shown);
        item->setFont(font);
    }
    fitTags();
}

void OverviewPage::fitTags()
{
    constexpr int kMostRows = 6;
    int height = 6;
    for (int row = 0; row < std::min(m_tagList->count(), kMostRows); ++row)
        height += m_tagList->sizeHintForRow(row) + 1;
    m_tagList->setFixedHeight(height);
}

/// What they hold, once the checkpoint itself is read: both read the same disk.
void OverviewPage::readTags()
{
    if (!m_checkpoint->fullyRead || m_tagList->count() == 0)
        return;
    m_tagReader.run<TagFacts>(
        [&files = m_context.session.files(), place = m_place](const std::stop_token& token,
            const std::function<void(TagFacts)>& deliver) { readTagFacts(files, place, token, deliver); },
        [this](const TagFacts& facts) { describeTag(facts); });
}

void OverviewPage::describeTag(const TagFacts& facts)
{
    for (int row = 0; row < m_tagList->count(); ++row) {
        QListWidgetItem* item = m_tagList->item(row);
        if (item->data(Qt::UserRole).toByteArray().toStdString() != facts.tag)
            continue;
        item->setText((QStringList{item->text() % u"  · "_s % facts.state} + facts.lines).join(u'\n'));
        if (!facts.isComplete)
            item->setIcon(themedIcon(m_context.theme, u"warning"_s, ThemeRole::Warning));
    }
    fitTags();
}

void OverviewPage::summarise(const std::vector<Finding>& found)
{
    if (m_checkpoint->modelError) {
        m_messages->showError(*m_checkpoint->modelError);
        return;
    }
    std::vector<FindingGroup> groups = groupFindings(found);
    std::erase_if(
        groups, [](const FindingGroup& group) { return group.first().severity != Severity::Error; });
    if (groups.empty()) {
        m_messages->hide();
        return;
    }
    QString first = groups.front().message;
    if (const size_t places = groups.front().findings.size(); places > 1)
        first += u" · "_s % tr("%1 places").arg(places);
    const bool repairable = std::any_of(groups.begin(), groups.end(),
        [](const FindingGroup& group) { return repairs(diagnosisOf(group.first().code), group.first()); });
    m_messages->showMessage(Severity::Error,
        groups.size() == 1 ? first
                           : tr("%1 problems were found. The first: %2").arg(groups.size()).arg(first),
        repairable ? QStringList{tr("&Repair…")} : QStringList());
}

} // namespace shardscope::ui
