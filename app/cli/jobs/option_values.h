// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/jobs/session.h"
#include "core/describe/option.h"

namespace shardscope::cli {

/// Sets what the command line has of the options. The command's parser has checked kinds and limits.
///
/// Usage for values that are not what the option takes, and for codes of --allow that no finding has. I/O
/// errors for files whose content is a value.
Status readOptions(const Session& session, const OptionFields& fields);

/// The codes of --allow. Each must be a known finding.
Result<std::vector<std::string>> allowedCodes(const Arguments& arguments);

} // namespace shardscope::cli
