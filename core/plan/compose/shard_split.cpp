// SPDX-License-Identifier: Apache-2.0
#include "core/plan/compose/shard_split.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace shardscope {

std::vector<std::vector<uint32_t>> splitIntoShards(std::span<const uint64_t> tensorBytes, uint64_t shardBytes)
{
    std::vector<std::vector<uint32_t>> out;
    std::vector<uint32_t> current;
    uint64_t filled = 0;
    for (uint32_t i = 0; i < tensorBytes.size(); ++i) {
        const uint64_t bytes = tensorBytes[i];
        if (bytes > shardBytes) {
            out.push_back({i});
            continue;
        }
        if (bytes > shardBytes - filled) {
            out.push_back(std::move(current));
            current.clear();
            filled = 0;
        }
        current.push_back(i);
        filled += bytes;
    }
    if (!current.empty())
        out.push_back(std::move(current));
    return out;
}

std::string shardName(const std::string& stem, const std::string& extension, size_t shard, size_t shards)
{
    return shards == 1 ? stem + "." + extension
                       : fmt::format("{}-{:05}-of-{:05}.{}", stem, shard + 1, shards, extension);
}

std::string shardIndexText(
    std::vector<std::pair<std::string, std::string>> fileOfTensor, uint64_t parameters, uint64_t bytes)
{
    nlohmann::json out;
    out["metadata"] = {{"total_parameters", parameters}, {"total_size", bytes}};
    auto& map = out["weight_map"] = nlohmann::json::object();
    for (auto& [tensor, file] : fileOfTensor)
        map[tensor] = std::move(file);
    return out.dump(2, ' ', true) + "\n";
}

} // namespace shardscope
