// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"
#include "core/torchfile/zip/zip_layout.h"

namespace shardscope {

/// Every byte position of the archive that a recipe with `torchArchive` results in. Errors as of
/// ZipLayout::make(). Pure.
Result<ZipLayout> archiveLayout(const OutputFile& file);

/// Threads that compose recipes side by side: few, as each holds a pickle, with the names of all parameters.
unsigned composersAtOnce();

/// The size of the file that a recipe results in. Usage and LimitExceeded as ZipLayout::make(). Pure.
Result<uint64_t> outputBytes(const OutputFile& file);

} // namespace shardscope
