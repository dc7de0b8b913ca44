// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/check_run.h"

#include <QStringList>

#include <functional>
#include <stop_token>

namespace shardscope {
struct TagSummary;
}

namespace shardscope::ui {

/// "complete", "1 error", "cannot be read": as names, sizes and headers show it.
QString tagStateText(const TagSummary& tag);

/// What is known of a tag of a run.
struct TagFacts {
    std::string tag;
    QString state; ///< tagStateText()
    QStringList
        lines; ///< "step 5 · ZeRO-3 · 4 ranks", "385.0 KiB · 2026-11-27 17:57"; none if it cannot be read
    bool isComplete = false;
};

/// Reads names, headers and rank 0's metadata of the tags of the run at `place`, the newest first; at most
/// kMostTags. Calls `deliver` for each. For a worker thread.
void readTagFacts(io::FileSystem& files, const CheckPlace& place, const std::stop_token& token,
    const std::function<void(TagFacts)>& deliver);
inline constexpr size_t kMostTags = 50;

} // namespace shardscope::ui
