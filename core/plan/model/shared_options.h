// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/option.h"

namespace shardscope {

/// Rows of options that several kinds of plan have.

/// --patterns; see ReshardOptions::patterns.
OptionField patternsField(std::optional<std::string>& patterns);
/// --tie; see core/plan/compose/named_ties.h.
OptionField tieField(std::vector<std::string>& ties);
/// --allow: codes of findings.
OptionField allowField(std::vector<std::string>& allow, std::string help);
inline constexpr const char* kAllowHelp
    = "Proceed despite this finding, if possible, instead of refusing. The result is marked. Can be "
      "repeated.";

} // namespace shardscope
