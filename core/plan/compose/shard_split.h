// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Splits tensors into files as huggingface_hub does (serialization/_base.py,
/// split_state_dict_into_shards_factory): in order, a file ends where the next tensor would make it larger
/// than `shardBytes`. A tensor above that size gets its own file, before the one that is being filled.
/// Positions by file. Pure.
std::vector<std::vector<uint32_t>> splitIntoShards(
    std::span<const uint64_t> tensorBytes, uint64_t shardBytes);

/// "model.safetensors", or "model-00001-of-00003.safetensors" where there are several. `shard` counts from 0.
std::string shardName(const std::string& stem, const std::string& extension, size_t shard, size_t shards);

/// What `save_pretrained` of transformers writes as "….index.json": JSON with sorted keys, indented by two,
/// ASCII only, ending in a newline. `parameters` and `bytes`: of all files.
std::string shardIndexText(
    std::vector<std::pair<std::string, std::string>> fileOfTensor, uint64_t parameters, uint64_t bytes);

} // namespace shardscope
