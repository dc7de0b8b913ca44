// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "ui/jobs/latest_only.h"
#include "ui/pages/page.h"
#include "ui/session/check_run.h"

#include <QTimer>

#include <deque>
#include <functional>

class QLabel;
class QListWidget;
class QScrollArea;

namespace shardscope::ui {

class Card;
class FindingsList;
struct TagFacts;
class MessageBar;

/// A summary of the checkpoint: identity, sizes, parameters, steps, groups, tags, findings.
class OverviewPage : public Page
{
    Q_OBJECT
public:
    [[nodiscard]] static PageEntry entry();
    OverviewPage(const PageContext& context, QWidget* parent);

    [[nodiscard]] bool isBusy() const override { return m_filling.isActive() || m_tagReader.isRunning(); }
    [[nodiscard]] MessageBar* messageBar() const { return m_messages; }

protected:
    void showCheckpoint() override;

private:
    void fillTags(const Checkpoint& checkpoint);
    void readTags();
    void fillLater(Card* card, std::function<void(Card&)> fill);
    void fillNext();
    void describeTag(const TagFacts& facts);
    void fitTags();
    void summarise(const std::vector<Finding>& found);
    void showFindings();

    io::Path m_folder; ///< of what is shown
    MessageBar* m_messages;
    QScrollArea* m_scroll;
    Card* m_identity;
    Card* m_sizes;
    Card* m_states;
    Card* m_parameters;
    Card* m_steps;
    Card* m_groups;
    Card* m_tags;
    Card* m_findings;
    Card* m_evidence;
    QListWidget* m_tagList;
    FindingsList* m_findingsList;
    QLabel* m_empty;
    QTimer m_filling; ///< runs while m_left has something
    std::deque<std::function<void()>> m_left; ///< what is filled in the following events
    LatestOnly m_tagReader{WorkLength::Long};
};

} // namespace shardscope::ui
