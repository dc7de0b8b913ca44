// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/report/summary/next_steps.h"
#include "core/report/summary/provenance.h"
#include "ui/jobs/latest_only.h"
#include "ui/jobs/one_an_event.h"
#include "ui/pages/page.h"
#include "ui/session/check_run.h"

#include <functional>

class QLabel;
class QListWidget;
class QScrollArea;

namespace shardscope::ui {

class Card;
class FindingsList;
class MapThumbnail;
class NextStepsList;
struct OverviewLinks;
class MessageBar;

/// A summary of the checkpoint, where every number and every finding leads to what it is about: identity,
/// map, findings, what can be done next, sizes, parameters, steps, groups, tags, provenance.
class OverviewPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    OverviewPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] bool isBusy() const override;
    [[nodiscard]] MessageBar* messageBar() const { return m_messages; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showCheckpoint() override;
    void leaveCheckpoint() override;

private:
    Card* addCard(const QString& name, const QString& title);
    void makeCards();
    void connectParts();
    [[nodiscard]] OverviewLinks links();
    void stopFilling();
    void fillAll();
    void fillTags(const Checkpoint& checkpoint);
    void readTags();
    void readProvenance();
    void showProvenance();
    void fillLater(Card* card, std::function<void(Card&)> fill);
    void describeTags();
    void fitTags();
    void summarise(const std::vector<Finding>& found);
    void showFindings();
    void goOn(NextStepId step);

    /// In the order in which they are shown.
    struct Cards {
        Card* identity = nullptr;
        Card* map = nullptr;
        Card* findings = nullptr;
        Card* next = nullptr;
        Card* parameters = nullptr;
        Card* sizes = nullptr;
        Card* steps = nullptr;
        Card* states = nullptr;
        Card* groups = nullptr;
        Card* tags = nullptr;
        Card* provenance = nullptr;
        Card* evidence = nullptr;
    };

    io::Path m_folder; ///< of what is shown
    MessageBar* m_messages;
    QScrollArea* m_scroll;
    Cards m_cards;
    MapThumbnail* m_thumbnail = nullptr;
    NextStepsList* m_steps = nullptr;
    QListWidget* m_tagList = nullptr;
    FindingsList* m_findingsList = nullptr;
    QLabel* m_empty;
    OneAnEvent m_filling; ///< cards: together they take too long with thousands of ranks
    std::optional<Provenance> m_provenance;
    LatestOnly m_provenanceReader{WorkLength::Long};
};

} // namespace shardscope::ui
