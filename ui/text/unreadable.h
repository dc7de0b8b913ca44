// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/fragments.h"

#include <QString>

namespace shardscope::ui {

/// A file that is there and could not be read: no permission, a disk error. Not one that is missing or torn.
bool isUnreadable(const Checkpoint& checkpoint, FileId file);
/// Whether the file that should hold a rank's share of a unit is there and could not be read.
bool isUnreadable(const Checkpoint& checkpoint, const FlatUnit& unit, uint32_t share);

/// "missing" or "unreadable": why a fragment that should be stored has no file, or could not be read from it.
QString lossText(const Checkpoint& checkpoint, const Fragment& fragment);
/// The same of one element of a parameter's state.
QString lossText(const Checkpoint& checkpoint, ParamId param, const std::string& state, uint64_t element);
/// A file's status as people read it: "ok", "missing", "unreadable", "damaged", …
QString fileStatusText(const Checkpoint& checkpoint, FileId file);

} // namespace shardscope::ui
