// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

/// The role of a PeftModel's parameter in its LoRA adapter (peft, tuners/lora/layer.py, utils/other.py).
enum class AdapterRole { LoraA, LoraB, EmbeddingA, EmbeddingB, Magnitude, SavedModule };

struct AdapterPart {
    AdapterRole role = AdapterRole::LoraA;
    std::string module; ///< of the adapter: "base_model.model.layers.0.q_proj"
    std::string adapter; ///< its name: "default"; empty if the parameter's name does not have it
    /// PEFT's spelling, without the adapter's name: "base_model.model.layers.0.q_proj.lora_A.weight".
    std::string key;
    bool isBias = false; ///< of `lora_B` (lora_bias)
};

/// The prefix of the base model's modules in a PeftModel.
inline constexpr std::string_view kPeftPrefix = "base_model.model.";

/// The part of a LoRA adapter with this parameter name. Nothing for parameters of the base model and of other
/// methods.
std::optional<AdapterPart> adapterPart(std::string_view name);

/// The PEFT method other than LoRA that uses this parameter name, such as "IA3"; empty for none.
/// `withLora`: considers only methods that can occur together with LoRA, because a base model's module may
/// have such a name.
std::string_view otherPeftMethod(std::string_view name, bool withLora);

} // namespace shardscope
