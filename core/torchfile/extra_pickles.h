// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/zip_directory.h"

#include <span>

namespace shardscope {

/// Looks into records that nothing in the file uses for pickles, which a loader could be led to.
///
/// Like all pickles they are parsed and never executed. Dangerous names in one are a finding of severity
/// Error (pickle-dangerous), a pickle by name that cannot be read one of severity Warning. Bounded: a pickle
/// that is too large to inspect is reported. Fails with Cancelled only.
Status scanExtraPickles(const io::ReadFile& file, const ZipDirectory& zip, std::span<const uint32_t> unused,
    std::vector<Finding>& findings, JobContext& job);

} // namespace shardscope
