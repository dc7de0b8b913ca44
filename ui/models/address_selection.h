// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/place.h"
#include "core/checkpoint/model/checkpoint.h"
#include "ui/models/selection.h"

#include <QString>

#include <string_view>

namespace shardscope::ui {

/// What an address (core/layout/address.h) selects; also "rank 3", "dp3.tp1", "layer 19", the name of a file,
/// and an element by its indices, as in `name#exp_avg[5, 7]`. Errors as parseAddress() and locate() give
/// them.
Result<SelectedThing> selectionOf(const Checkpoint& checkpoint, const QString& address);
/// The address that selects it again; empty if there is none.
QString addressOf(const Checkpoint& checkpoint, const SelectedThing& thing);
/// What a finding is about. Nothing if the checkpoint does not have it, and for findings about all of it.
std::optional<SelectedThing> selectionOf(const Checkpoint& checkpoint, const Place& place);

} // namespace shardscope::ui
