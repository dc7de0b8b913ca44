// SPDX-License-Identifier: Apache-2.0
// The rule of huggingface_hub; tests/interop compares it with the library itself.
#include "core/plan/compose/shard_split.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace shardscope;

using Shards = std::vector<std::vector<uint32_t>>;

TEST_CASE("tensors are divided into files in their order")
{
    CHECK(splitIntoShards(std::vector<uint64_t>{6, 6, 2, 6, 2, 2}, 10) == Shards{{0}, {1, 2}, {3, 4, 5}});
    CHECK(splitIntoShards(std::vector<uint64_t>{5, 5, 1}, 10) == Shards{{0, 1}, {2}});
    // A tensor that is too large gets a file before the one that is being filled, which continues after it.
    CHECK(splitIntoShards(std::vector<uint64_t>{4, 11, 4, 4}, 10) == Shards{{1}, {0, 2}, {3}});
    CHECK(splitIntoShards(std::vector<uint64_t>{11}, 10) == Shards{{0}});
    CHECK(splitIntoShards(std::vector<uint64_t>{0, 0}, 1) == Shards{{0, 1}});
    CHECK(splitIntoShards(std::vector<uint64_t>{}, 10).empty());
    const uint64_t most = ~uint64_t{0};
    CHECK(splitIntoShards(std::vector<uint64_t>{most, most}, most) == Shards{{0}, {1}});
}

TEST_CASE("every tensor has one file, and no file of several is too large")
{
    std::mt19937_64 random(11); // NOLINT: the same cases every time
    for (int round = 0; round < 500; ++round) {
        std::vector<uint64_t> bytes(random() % 40);
        for (uint64_t& size : bytes)
            size = random() % 30;
        const uint64_t most = 1 + random() % 60;
        std::vector<int> seen(bytes.size(), 0);
        for (const auto& shard : splitIntoShards(bytes, most)) {
            REQUIRE(!shard.empty());
            uint64_t sum = 0;
            for (const uint32_t i : shard) {
                ++seen[i];
                sum += bytes[i];
            }
            CHECK((sum <= most || shard.size() == 1));
        }
        CHECK(std::accumulate(seen.begin(), seen.end(), 0) == static_cast<int>(bytes.size()));
        CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(bytes.size()));
    }
}

TEST_CASE("files and their index are called and written as by transformers")
{
    CHECK(shardName("model", "safetensors", 0, 1) == "model.safetensors");
    CHECK(shardName("model", "safetensors", 1, 12) == "model-00002-of-00012.safetensors");
    CHECK(shardIndexText({{"b", "x"}, {"a\xC3\xBC", "y"}}, 3, 12)
        == "{\n  \"metadata\": {\n    \"total_parameters\": 3,\n    \"total_size\": 12\n  },\n"
           "  \"weight_map\": {\n    \"a\\u00fc\": \"y\",\n    \"b\": \"x\"\n  }\n}\n");
}
