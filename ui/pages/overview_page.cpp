// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/overview_page.h"

#include "core/checkpoint/folder/skeleton.h"
#include "ui/controls/map_thumbnail.h"
#include "ui/controls/next_steps_list.h"
#include "ui/pages/findings_list.h"
#include "ui/pages/overview_cards.h"
#include "ui/session/check_run.h"
#include "ui/session/findings/check_text.h"
#include "ui/session/findings/finding_groups.h"
#include "ui/session/findings/finding_store.h"
#include "ui/session/fingerprint_store.h"
#include "ui/session/runs/tag_rows.h"
#include "ui/style/icons.h"
#include "ui/text/text.h"
#include "ui/widgets/card.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"

#include <QLabel>
#include <QListWidget>
#include <QResizeEvent>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kHeadRole = Qt::UserRole + 1; ///< the first line of a tag, without what it holds

} // namespace

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
    makeCards();
    handFocusTo(this, m_scroll);

    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_messages);
    rows->addWidget(m_scroll, 1);
    rows->addWidget(m_empty, 1);
    connectParts();
    showCheckpoint();
}

Card* OverviewPage::addCard(const QString& name, const QString& title)
{
    auto* card = new Card(m_context.theme, title, m_scroll->widget());
    card->setObjectName(name);
    m_scroll->widget()->layout()->addWidget(card);
    return card;
}

void OverviewPage::makeCards()
{
    auto* cards = new QWidget(m_scroll);
    cards->setObjectName(u"overviewCards"_s);
    new CardGrid(cards);
    m_scroll->setWidget(cards);
    m_cards.identity = addCard(u"identityCard"_s, tr("Checkpoint"));
    m_cards.map = addCard(u"mapCard"_s, tr("Partition map"));
    m_cards.findings = addCard(u"findingsCard"_s, tr("Findings"));
    m_cards.next = addCard(u"nextCard"_s, tr("What can be done next"));
    m_cards.parameters = addCard(u"parametersCard"_s, tr("Parameters"));
    m_cards.sizes = addCard(u"sizesCard"_s, tr("Size on disk"));
    m_cards.steps = addCard(u"stepsCard"_s, tr("Training"));
    m_cards.states = addCard(u"statesCard"_s, tr("Size by state"));
    m_cards.groups = addCard(u"groupsCard"_s, tr("Param groups"));
    m_cards.tags = addCard(u"tagsCard"_s, tr("Tags of this run"));
    m_cards.provenance = addCard(u"provenanceCard"_s, tr("Who wrote it"));
    m_cards.evidence = addCard(u"evidenceCard"_s, tr("How it was recognised"));
    m_thumbnail = new MapThumbnail(m_context.theme, m_cards.map);
    m_cards.map->addWidget(m_thumbnail);
    m_steps = new NextStepsList(m_context.session.files(), m_context.theme, m_cards.next);
    m_cards.next->addWidget(m_steps);
    m_tagList = new QListWidget(m_cards.tags);
    m_tagList->setObjectName(u"tagList"_s);
    m_tagList->setAccessibleName(tr("Tags of this run"));
    m_tagList->setFrameShape(QFrame::NoFrame);
    m_tagList->setWordWrap(true);
    m_tagList->setResizeMode(QListView::Adjust);
    m_tagList->viewport()->installEventFilter(this);
    m_tagList->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
    m_tagList->viewport()->setAutoFillBackground(false);
    m_tagList->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_cards.tags->addWidget(m_tagList);
    m_findingsList = new FindingsList(m_context.theme, m_cards.findings);
    m_cards.findings->addWidget(m_findingsList);
}

void OverviewPage::connectParts()
{
    connect(m_messages, &MessageBar::actionTriggered, this, &OverviewPage::repairWanted);
    connect(m_tagList, &QListWidget::itemActivated, this,
        [this](const QListWidgetItem* item) { Q_EMIT tagRequested(item->data(Qt::UserRole).toByteArray()); });
    connect(m_findingsList, &FindingsList::placeRequested, this, &OverviewPage::placeRequested);
    connect(m_findingsList, &FindingsList::allRequested, this,
        [this] { Q_EMIT m_context.selection.pageRequested(PageId::Findings); });
    connect(m_thumbnail, &QAbstractButton::clicked, this,
        [this] { Q_EMIT m_context.selection.pageRequested(PageId::Map); });
    connect(m_steps, &NextStepsList::chosen, this, &OverviewPage::goOn);
    connect(&m_context.findings, &FindingStore::changed, this, &OverviewPage::showFindings);
    connect(&m_context.session.fingerprints(), &FingerprintStore::changed, this,
        &OverviewPage::showProvenance, Qt::QueuedConnection); // its link may be what was clicked
    connect(&m_context.session.tags(), &TagStore::changed, this, &OverviewPage::describeTags);
}

bool OverviewPage::isBusy() const
{
    return m_filling.isActive() || m_context.session.tags().isReading() || m_provenanceReader.isRunning()
        || m_steps->isBusy() || m_thumbnail->isBusy();
}

OverviewLinks OverviewPage::links()
{
    OverviewLinks out;
    out.page = [this](PageId page, const QString& filter) {
        if (page == PageId::Parameters || page == PageId::Files)
            Q_EMIT filteredPageRequested(page, filter);
        else
            Q_EMIT m_context.selection.pageRequested(page);
    };
    out.file = [this](FileId file) {
        if (file != kNoFile)
            m_context.selection.selectFile(file);
        Q_EMIT m_context.selection.pageRequested(PageId::Files);
    };
    out.tags = [this] {
        m_scroll->ensureWidgetVisible(m_cards.tags);
        m_tagList->setFocus(Qt::ShortcutFocusReason);
    };
    return out;
}

void OverviewPage::goOn(NextStepId step)
{
    switch (step) {
    case NextStepId::Repair:
        Q_EMIT repairWanted();
        break;
    case NextStepId::Resume:
        Q_EMIT actionRequested(u"actionReshard"_s);
        break;
    case NextStepId::Convert:
        Q_EMIT actionRequested(u"actionConvert"_s);
        break;
    case NextStepId::Export:
        Q_EMIT actionRequested(u"actionExport"_s);
        break;
    case NextStepId::Compare:
        Q_EMIT m_context.selection.pageRequested(PageId::Compare);
        break;
    case NextStepId::Verify:
        Q_EMIT actionRequested(u"actionVerify"_s);
        break;
    }
}

void OverviewPage::showCheckpoint()
{
    const CheckpointPtr& checkpoint = m_checkpoint;
    const io::Path former = std::exchange(m_folder, checkpoint ? checkpoint->tagFolder : io::Path());
    const bool isSame = checkpoint && former == m_folder;
    stopFilling();
    m_scroll->setVisible(checkpoint != nullptr);
    m_empty->setVisible(checkpoint == nullptr);
    m_messages->hide();
    if (!isSame) { // a deeper reading of what is shown replaces it card by card
        for (Card* card : {m_cards.identity, m_cards.sizes, m_cards.states, m_cards.parameters, m_cards.steps,
                 m_cards.groups, m_cards.provenance, m_cards.evidence})
            card->clear();
        m_tagList->clear(); // and what could be clicked
        m_findingsList->clear();
        m_thumbnail->clear();
        m_steps->showText({});
    }
    if (checkpoint)
        fillAll();
}

/// The cards are cleared when it is filled: nobody sees them before.
void OverviewPage::leaveCheckpoint()
{
    stopFilling();
    m_folder.clear();
}

void OverviewPage::stopFilling()
{
    m_filling.clear();
    m_provenanceReader.cancel();
    m_provenance.reset();
}

void OverviewPage::fillAll()
{
    const CheckpointPtr& checkpoint = m_checkpoint;
    const bool hasModel = !checkpoint->params.empty();
    const MapLooksPtr& looks = m_context.session.looks();
    for (Card* card : {m_cards.states, m_cards.parameters, m_cards.steps, m_cards.groups})
        card->setVisible(hasModel);
    m_cards.map->setVisible(looks && !looks->sections.empty());
    const OverviewLinks links = this->links();
    Theme& theme = m_context.theme;
    const auto add = [&](Card* card, auto fill) {
        fillLater(card, [checkpoint, links, fill](Card& filled) { fill(filled, *checkpoint, links); });
    };
    const auto addCounts = [&](Card* card, auto fill) {
        fillLater(card,
            [checkpoint, looks, links, fill](Card& filled) { fill(filled, *checkpoint, *looks, links); });
    };
    addCounts(m_cards.identity, fillIdentity);
    if (hasModel)
        addCounts(m_cards.parameters, fillParameters);
    add(m_cards.sizes, [&theme](Card& card, const Checkpoint& read, const OverviewLinks& to) {
        fillSizes(card, read, theme, to);
    });
    if (hasModel) {
        add(m_cards.steps, fillSteps);
        fillLater(m_cards.states,
            [looks, links, &theme](Card& card) { fillStateSizes(card, *looks, theme, links); });
        add(m_cards.groups, fillGroups);
    }
    fillLater(m_cards.evidence, [checkpoint](Card& card) { fillEvidence(card, *checkpoint); });
    m_filling.add([this] {
        fillTags(*m_checkpoint);
        readTags();
        readProvenance();
    });
    m_filling.add([this] { showFindings(); });
}

void OverviewPage::fillLater(Card* card, std::function<void(Card&)> fill)
{
    m_filling.add([card, fill = std::move(fill)] {
        card->clear();
        fill(*card);
    });
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
    m_findingsList->setFindings(*found, m_checkpoint->supported, state);
    summarise(*found);
    m_thumbnail->show(m_checkpoint, m_context.session.looks(), found);
    if (store.run().isRunning() || !m_checkpoint->fullyRead)
        m_steps->showText(tr("It is being read and checked."));
    else
        m_steps->show({m_checkpoint, m_place}, found);
}

void OverviewPage::fillTags(const Checkpoint& checkpoint)
{
    m_tagList->clear();
    m_cards.tags->setVisible(!checkpoint.tags.empty());
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
        item->setData(kHeadRole, text);
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
    m_tagList->doItemsLayout();
    for (int row = 0; row < std::min(m_tagList->count(), kMostRows); ++row)
        height += m_tagList->visualItemRect(m_tagList->item(row)).height() + 1;
    m_tagList->setFixedHeight(height);
}

bool OverviewPage::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize) {
        const auto* resized = static_cast<const QResizeEvent*>(event);
        if (resized->size().width() != resized->oldSize().width()) // lines wrap elsewhere
            QTimer::singleShot(0, this, &OverviewPage::fitTags);
    }
    return Page::eventFilter(watched, event);
}

/// What they hold, once the checkpoint itself is read: both read the same disk.
void OverviewPage::readTags()
{
    constexpr size_t kMostTags = 50;
    if (m_checkpoint->fullyRead && m_tagList->count() > 0)
        m_context.session.tags().want(kMostTags);
    describeTags();
}

void OverviewPage::readProvenance()
{
    m_provenanceReader.run<Provenance>(
        [&files = m_context.session.files(), checkpoint = m_checkpoint](const std::stop_token&,
            const std::function<void(Provenance)>& deliver) { deliver(provenanceOf(files, *checkpoint)); },
        [this](const Provenance& provenance) {
            m_provenance = provenance;
            showProvenance();
        });
}

void OverviewPage::showProvenance()
{
    if (!m_provenance || !m_checkpoint)
        return;
    m_cards.provenance->clear();
    fillProvenance(*m_cards.provenance, *m_checkpoint, *m_provenance, links());
    if (m_checkpoint->fullyRead && !m_checkpoint->modelError && !m_checkpoint->params.empty()
        && !isWeights(m_checkpoint->kind) && !isSkeleton(*m_checkpoint))
        fillFingerprint(*m_cards.provenance, m_context.session.fingerprints().of(m_checkpoint),
            [this] { Q_EMIT actionRequested(u"actionFingerprint"_s); });
}

void OverviewPage::describeTags()
{
    for (int row = 0; row < m_tagList->count(); ++row) {
        QListWidgetItem* item = m_tagList->item(row);
        const TagSummary* tag
            = m_context.session.tags().read(item->data(Qt::UserRole).toByteArray().toStdString());
        if (tag == nullptr)
            continue;
        const QString head = item->data(kHeadRole).toString() % u"  · "_s % tagStateText(*tag);
        item->setText((QStringList{head} + tagLines(*tag)).join(u'\n'));
        if (!tag->isComplete())
            item->setIcon(themedIcon(m_context.theme, u"error"_s, ThemeRole::Error));
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
    const bool repairable = std::any_of(groups.begin(), groups.end(),
        [](const FindingGroup& group) { return repairs(diagnosisOf(group.first().code), group.first()); });
    size_t errors = 0; // as the card counts them, which says which
    for (const FindingGroup& group : groups)
        errors += group.findings.size();
    m_messages->showMessage(Severity::Error,
        errors == 1 ? tr("A problem was found.") : tr("%1 problems were found.").arg(countText(errors)),
        repairable ? QStringList{tr("&Repair…")} : QStringList());
}

} // namespace shardscope::ui
