// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    std::string where; ///< an address or a path as cli.md spells them; may be empty
    std::vector<std::string> evidence; ///< facts, one each
};

} // namespace shardscope
