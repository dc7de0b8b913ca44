// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/adapter_config.h"
#include "core/plan/export/export_names.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The single LoRA adapter among a checkpoint's parameters.
struct AdapterExport {
    std::vector<ExportName> names; ///< its tensors, with PEFT's names in adapter_model.safetensors
    std::optional<AdapterConfig> config; ///< the one that was found
    std::string configText; ///< built from known facts if none was found
    std::vector<std::string> left; ///< trained parameters that PEFT does not save with an adapter
};

/// `names`: the requested parameters (exportNames()), with their names in the PeftModel. Selects the ones
/// that `save_pretrained` of PEFT saves with the adapter: LoRA matrices, DoRA magnitudes, modules_to_save,
/// biases as configured, and embeddings that are targets.
///
/// Refused if there is no adapter, if the configuration next to the checkpoint belongs to another adapter, or
/// if it is absent and adapterConfigText() needs more options. Unsupported, by name, for other methods. Usage
/// if several adapters are requested.
Result<AdapterExport> selectAdapter(io::FileSystem& files, const Checkpoint& source,
    std::vector<ExportName> names, const std::vector<std::string>& configOptions);

} // namespace shardscope
