// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/map_query.h"
#include "core/report/summary/provenance.h"
#include "ui/models/selection.h"

#include <QString>

#include <functional>

namespace shardscope::ui {

class Card;
class Theme;

/// Where the numbers of the cards lead.
struct OverviewLinks {
    std::function<void(PageId page, const QString& filter)> page;
    std::function<void(FileId file)> file; ///< kNoFile: all of them
    std::function<void()> tags; ///< the tags of this run
};

/// What the Overview's cards say about a checkpoint. Each fills an empty card.
void fillIdentity(
    Card& card, const Checkpoint& checkpoint, const MapLooks& looks, const OverviewLinks& links);
void fillSizes(Card& card, const Checkpoint& checkpoint, Theme& theme, const OverviewLinks& links);
void fillStateSizes(Card& card, const MapLooks& looks, Theme& theme, const OverviewLinks& links);
void fillParameters(
    Card& card, const Checkpoint& checkpoint, const MapLooks& looks, const OverviewLinks& links);
void fillSteps(Card& card, const Checkpoint& checkpoint, const OverviewLinks& links);
void fillGroups(Card& card, const Checkpoint& checkpoint, const OverviewLinks& links);
void fillProvenance(
    Card& card, const Checkpoint& checkpoint, const Provenance& provenance, const OverviewLinks& links);
/// Adds the fingerprint, or a link to compute it if it is empty. `go`: copies or computes it.
void fillFingerprint(Card& card, const QString& fingerprint, const std::function<void()>& go);
void fillEvidence(Card& card, const Checkpoint& checkpoint);

} // namespace shardscope::ui
