// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/parameters/parameter_index.h"

#include <QString>

#include <functional>
#include <stop_token>
#include <vector>

namespace shardscope::ui {

/// One thing to choose by typing.
struct Pick {
    QString text;
    QString detail; ///< shape and size, or a key
    uint32_t id = 0; ///< meaning defined by the caller
    bool operator==(const Pick&) const = default;
};

using PickList = std::vector<Pick>;
/// The best matches for the typed text, best first. Called on worker threads.
using PickFinder = std::function<PickList(const QString& typed, const std::stop_token& token)>;

/// The best of a fixed list.
PickFinder findAmong(PickList all);
/// The best parameters of 300,000, by name; in the order of names while the text is empty.
PickFinder findParameter(ParameterIndexPtr index);

} // namespace shardscope::ui
