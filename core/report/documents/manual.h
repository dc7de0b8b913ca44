// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace shardscope {

/// A page of the manual, resources/manual/TOPIC.md, which the build puts into every program.
struct ManualPage {
    std::string_view topic; ///< "resharding"
    std::string_view title; ///< the page's first heading
    std::string_view text; ///< Markdown, UTF-8
};

/// In the order in which they are read. Thread-safe.
std::span<const ManualPage> manualPages();
/// Null if there is no such page.
const ManualPage* findManualPage(std::string_view topic);

} // namespace shardscope
