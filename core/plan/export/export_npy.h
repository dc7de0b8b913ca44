// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export_files.h"

#include <memory>
#include <vector>

namespace shardscope {

/// A file for every tensor, one folder per state, and the index (core/torchfile/formats/npy_folder.h).
/// Unsupported, by name, for tensors that the index cannot name. Pure.
Result<std::vector<ExportTarget>> npyTargets(const ExportContext& context);

/// The recipe of one tensor's file.
Result<OutputFile> composeNpy(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target);

/// Names tensors of dtypes that NumPy does not have. Empty if there are none.
std::string npyRawNote(const std::vector<ExportTensor>& tensors);

} // namespace shardscope
