// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Splits tensors into files like huggingface_hub (serialization/_base.py,
/// split_state_dict_into_shards_factory). In order, a file ends if the next tensor would make it larger than
/// `shardBytes`. A tensor above that size gets its own file, before the one that is being filled. Returns
/// positions of tensors by file. Pure.
std::vector<std::vector<uint32_t>> splitIntoShards(
    std::span<const uint64_t> tensorBytes, uint64_t shardBytes);

/// "model.safetensors", or "model-00001-of-00003.safetensors" if there are several. `shard` counts from 0.
std::string shardName(const std::string& stem, const std::string& extension, size_t shard, size_t shards);

/// The text that transformers' `save_pretrained` writes as "….index.json": JSON with sorted keys, indented by
/// two, ASCII only, with a newline at the end. `parameters` and `bytes`: totals of all files.
std::string shardIndexText(
    std::vector<std::pair<std::string, std::string>> fileOfTensor, uint64_t parameters, uint64_t bytes);

} // namespace shardscope
