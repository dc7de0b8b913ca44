// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/finding_places.h"
#include "core/layout/fragments.h"
#include "ui/models/selection.h"

#include <QList>
#include <QString>

#include <optional>

namespace shardscope::ui {

/// One line of the Details dock; addresses can be copied unchanged.
struct DetailFact {
    QString name;
    QString value;
    bool isAddress = false;
};

struct DetailSection {
    QString title;
    QList<DetailFact> facts;
};

/// The content of the Details dock for a selection.
struct Details {
    QString title; ///< the thing's own name
    QString kind; ///< "Parameter", "Rank", …
    QList<DetailSection> sections;
    std::vector<Fragment> fragments; ///< of the parameter's shown state, or of the rank's contents
    bool hasMoreFragments = false; ///< there are more
    std::vector<std::string> states; ///< the states to choose from
    std::string state; ///< the state of these fragments
};

/// Pure; cheap enough for a worker, too slow for the GUI thread on thousands of ranks.
/// `findings`: of the checkpoint; those that touch what is selected come first. Null: none.
Details detailsOf(
    const Checkpoint& checkpoint, const SelectedThing& thing, const FindingPlaces* findings = nullptr);

} // namespace shardscope::ui
