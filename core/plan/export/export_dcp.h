// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export_files.h"
#include "core/plan/export/export_names.h"

#include <memory>
#include <vector>

namespace shardscope {

/// The tensors of a distributed checkpoint, as the source stores them: `model.NAME` from the masters, else
/// from the weights; then `optim.state.NAME.STATE` for every other state. Refused if no file holds a
/// parameter. Unsupported for a state that does not have one element per element of its parameter. Pure.
Result<std::vector<ExportTensor>> dcpTensors(const Checkpoint& source, const std::vector<ExportName>& names);

/// All files of a distributed checkpoint: `__0_0.distcp` with the values that are not tensors of the model
/// (one archive after the other), one file per tensor, and `.metadata`. This is the layout of torch's
/// FileSystemWriter with one file per item.
Result<std::vector<ExportTarget>> dcpTargets(const std::shared_ptr<const ExportContext>& context,
    const std::vector<ExportName>& names, std::vector<Finding>& warnings);

/// The recipe of one tensor's file. Unsupported, by name, for elements that torch has no storage class for.
Result<OutputFile> composeDcpTensor(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target);

} // namespace shardscope
