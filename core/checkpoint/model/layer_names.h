// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope {

inline constexpr std::string_view kTiedPrefix = "tied_modules.";

/// "3.mlp.weight" → 3: PipelineModule names the contents of a layer after the layer's number
/// (deepspeed/runtime/pipe/module.py, _build).
std::optional<uint32_t> layerOf(std::string_view name);

/// A name that has a number as one of its parts: "model.layers.3.mlp.weight".
struct NumberedName {
    std::string_view layer; ///< "model.layers.3"
    std::string_view stem; ///< "model.layers."
    std::string_view rest; ///< "mlp.weight"; empty if the number is the last part
    uint32_t number = 0;
};
/// By the first part that is a number of at most six digits.
std::optional<NumberedName> numberedName(std::string_view name);

/// "tied_modules.embed.weight" → "weight": a module that several layers share is named after its key. Empty
/// for other names.
std::string_view insideTied(std::string_view name);
/// The same name → "embed".
std::string_view tiedKeyOf(std::string_view name);

/// Replaces the key of a tied module if no file records it: "layer_00", after its first layer.
std::string inferredTiedKey(uint32_t layer);
bool isInferredTiedKey(std::string_view key);

} // namespace shardscope
