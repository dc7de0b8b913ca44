// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

#include <string>

namespace shardscope {

/// Whether all of an archive's bytes are known at planning time: no record is copied from a source.
bool isLiteralArchive(const OutputFile& archive);

/// The bytes of such an archive. Internal for any other.
Result<std::string> literalArchiveBytes(const OutputFile& archive);

} // namespace shardscope
