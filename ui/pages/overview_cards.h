// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

namespace shardscope::ui {

class Card;
class Theme;

/// What the Overview's cards say about a checkpoint. Each fills an empty card.
void fillIdentity(Card& card, const Checkpoint& checkpoint);
void fillSizes(Card& card, const Checkpoint& checkpoint, Theme& theme);
void fillStateSizes(Card& card, const Checkpoint& checkpoint, Theme& theme);
void fillParameters(Card& card, const Checkpoint& checkpoint);
void fillSteps(Card& card, const Checkpoint& checkpoint);
void fillGroups(Card& card, const Checkpoint& checkpoint);
void fillEvidence(Card& card, const Checkpoint& checkpoint);

} // namespace shardscope::ui
