// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/export/adapter_config.h"
#include "core/plan/export/export_names.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The one LoRA adapter among a checkpoint's parameters.
struct AdapterExport {
    std::vector<ExportName> names; ///< its tensors, as PEFT names them in adapter_model.safetensors
    std::optional<AdapterConfig> config; ///< that was found
    std::string configText; ///< one of what is known, where none was found
    std::vector<std::string> left; ///< trained parameters that PEFT does not save with an adapter
};

/// `names`: the requested parameters (exportNames()), with their names in the PeftModel. `save_pretrained` of
/// PEFT decides which of them belong to the adapter: LoRA matrices, DoRA magnitudes, modules_to_save, biases
/// as the configuration says, and embeddings that are targets. Refused where there is no adapter, where the
/// configuration next to the checkpoint belongs to another adapter, and where it is absent and
/// adapterConfigText() needs more options; Unsupported, by name, for other methods; Usage where several
/// adapters are requested.
Result<AdapterExport> selectAdapter(io::FileSystem& files, const Checkpoint& source,
    std::vector<ExportName> names, const std::vector<std::string>& configOptions);

} // namespace shardscope
