// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/export_files.h"
#include "core/plan/export/export_names.h"

#include <memory>
#include <vector>

namespace shardscope {

/// The tensors of a distributed checkpoint, as the source stores them: `model.NAME` from the masters, else
/// the weights, then `optim.state.NAME.STATE` for every other state. Refused where no file holds a parameter;
/// Unsupported where a state is kept that has no element for each element of its parameter. Pure.
Result<std::vector<ExportTensor>> dcpTensors(const Checkpoint& source, const std::vector<ExportName>& names);

/// All files: `__0_0.distcp` with what is no tensor of the model, each archive behind the other, a file for
/// every tensor, and `.metadata`. A folder as torch's FileSystemWriter makes it with a file per item.
Result<std::vector<ExportTarget>> dcpTargets(const std::shared_ptr<const ExportContext>& context,
    const std::vector<ExportName>& names, std::vector<Finding>& warnings);

/// The recipe of one tensor's file. Unsupported, by name, for elements that torch has no storage class for.
Result<OutputFile> composeDcpTensor(
    const std::shared_ptr<const ExportContext>& context, const ExportTarget& target);

} // namespace shardscope
