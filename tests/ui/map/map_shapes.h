// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"

#include <string>
#include <utility>
#include <vector>

namespace shardscope::test {

/// A model small enough to walk over every cell of its map: large, small and one-element parameters.
inline const std::vector<std::pair<std::string, Shape>> kShapes
    = {{"embed.weight", {50, 7}}, {"layers.0.self_attn.q_proj.weight", {7, 7}}, {"layers.0.norm.weight", {7}},
        {"layers.0.bias", {1}}, {"layers.1.mlp.up_proj.weight", {28, 7}}, {"lm_head.weight", {50, 7}}};

} // namespace shardscope::test
