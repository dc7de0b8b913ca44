// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"
#include "core/report/layout/layout_report.h"

#include <functional>
#include <vector>

namespace shardscope {

/// The flat units that a question is about, in the checkpoint's order.
std::vector<UnitId> unitsAsked(const Checkpoint& checkpoint, const LayoutQuestion& question);
/// The dp ranks that a question is about: one, or all.
std::pair<uint32_t, uint32_t> ranksAsked(
    const Checkpoint& checkpoint, const FlatUnit& unit, const LayoutQuestion& question);
/// Every fragment for the filters. None without a rank or parameter filter: the list would have parameters ×
/// ranks rows.
void forEachFragmentAsked(const Checkpoint& checkpoint, const LayoutQuestion& question,
    const std::function<void(const Fragment&)>& visit);

} // namespace shardscope
