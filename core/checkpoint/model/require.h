// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Success when a tag was chosen; else NotFound, with the existing tags.
Status requireTag(const Checkpoint& checkpoint);
/// Unsupported when the kind is recognised and this build cannot interpret it; success for supported and
/// damaged ones.
Status requireKnownKind(const Checkpoint& checkpoint);
/// The error of a plan: damage in a source that could be opened is a refusal, not "no checkpoint".
Error refusal(Error error);

/// Success if parameters, layout and values can be queried. Else the checkpoint's modelError (exit 3 or 4).
Status requireModel(const Checkpoint& checkpoint);
/// Success if every value can be trusted, so that output may be written from it. Else Refused, with the
/// findings of severity error that `allow` does not list.
Status requireComplete(const Checkpoint& checkpoint, const std::vector<std::string>& allow = {});
/// What the optimizers keep and the logical model does not have: states that no reader understands
/// (not-supported), and options that every rank has its own value of (option-mismatch, below an error).
std::vector<const Finding*> findUnreadStates(const Checkpoint& checkpoint);
/// Success if there is nothing of that kind. Else Unsupported, naming it; Refused for options per rank.
/// `allow` as in requireComplete(): the options of the first rank then count for all.
Status requireAllStates(const Checkpoint& checkpoint, const std::vector<std::string>& allow = {});

/// Whether it has weights without masters and optimizer states: they were not saved, or left out of a copy.
bool lacksOptimizer(const Checkpoint& checkpoint);

/// The folder that outputs must not be in: the run folder, or the tag folder if it is no part of a run.
const io::Path& ownFolderOf(const Checkpoint& checkpoint);

} // namespace shardscope
