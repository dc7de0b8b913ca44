// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/place.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

enum class Severity { Info, Warning, Error };

std::string_view severityName(Severity severity); ///< "info", "warning", "error"

/// Damage or an anomaly in the data. An Error, in contrast, stops an operation.
///
/// `code` is one of the kebab-case names of core/base/finding_codes.h.
struct Finding {
    std::string_view code;
    Severity severity = Severity::Info;
    std::string message; ///< one sentence for a person
    Place where; ///< empty: the whole checkpoint
    std::vector<std::string> evidence; ///< facts, one each
    std::vector<std::string>
        folders{}; ///< other folders that hold files of the checkpoint; also in `evidence`
    std::vector<Place> parts{}; ///< if `where` is only their span: what exactly is meant
};

} // namespace shardscope
