// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/describe/json_writer.h"

namespace shardscope::cli {

/// The answer of `--version`.
void writeVersion(const TextSink& sink, bool json);
std::string versionSchema();

} // namespace shardscope::cli
