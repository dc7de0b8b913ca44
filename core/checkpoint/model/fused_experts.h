// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// One layer with experts that AutoEP distributes over ranks (`expert_parallel`, DeepSpeed 0.19.2 and later).
struct FusedLayer {
    uint32_t localExperts = 0; ///< of every expert-parallel rank
    uint32_t ranks = 1; ///< expert-parallel
};

/// The experts that AutoEP keeps in one tensor per expert-parallel rank: PREFIX.w1, .w2 and .w3. Their first
/// dimension counts the rank's own experts (module_inject/auto_ep_layer.py). Optimizer files and param_shapes
/// name those tensors. Expert files hold every expert by itself as PREFIX.w1.X, where X counts all experts
/// (runtime/engine.py, _save_moe_checkpoint). A Checkpoint lists them in this form: the experts of a tensor
/// follow one another in its flat data. Only `ds_autoep_layers` of the model file records which tensors these
/// are.
///
/// Under ZeRO-3 (0.19.3 and later) there are no expert files. Every expert-parallel rank partitions its
/// tensor as one, over the ranks that have the same experts. A Checkpoint lists one such tensor per
/// expert-parallel rank, PREFIX.w1:epK.
///
/// With tensor slices (`folding`, AutoTP), expert-parallel ranks fold over slices and data-parallel ranks.
/// The rank at data-parallel rank D in slice T has the expert-parallel rank (D × slices + T) mod ranks()
/// (module_inject/auto_ep_folding.py). So the files of every slice have different experts. Immutable;
/// thread-safe.
class FusedExperts
{
public:
    /// Reads them from a model file's root; empty if there is no `ds_autoep_layers`. Damaged if an entry
    /// lacks a key that stock DeepSpeed requires. Unsupported for experts that are not in files of their own,
    /// or are not distributed evenly in their order. Unsupported, too, if the slices do not divide the
    /// expert-parallel ranks: several slices then share the partition of one tensor.
    static Result<FusedExperts> read(const PickleGraph& graph, NodeId modelRoot, bool zero3 = false);
    /// The layers that were used to list the parameters of a ZeRO checkpoint. Empty for other kinds.
    static FusedExperts of(const Checkpoint& checkpoint);

    [[nodiscard]] bool isEmpty() const { return m_layers.empty(); }
    [[nodiscard]] size_t tensors() const { return m_layers.size(); } ///< fused ones, of all layers
    /// By the name of a fused tensor. Null for all other names.
    [[nodiscard]] const FusedLayer* layerOf(std::string_view fused) const;
    /// PREFIX.w1 for PREFIX.w1.X. Empty for all other names.
    [[nodiscard]] std::string_view fusedNameOf(std::string_view name) const;
    /// Number of expert-parallel ranks; 1 without experts.
    [[nodiscard]] uint32_t ranks() const { return isEmpty() ? 1 : m_layers.begin()->second.ranks; }
    /// Number of tensor slices that they fold over; 1 without slices.
    [[nodiscard]] uint32_t slices() const { return m_slices; }
    /// Number of expert-parallel ranks in this slice. Its data-parallel ranks form this number of families.
    [[nodiscard]] uint32_t families() const { return ranks() / m_slices; }
    /// The expert-parallel rank of a family.
    [[nodiscard]] uint32_t rankOf(uint32_t family) const { return family * m_slices + m_slice; }
    /// The rank among all ranks of this pipeline stage, as process groups count them.
    [[nodiscard]] uint32_t stageRankOf(uint32_t dpRank) const { return dpRank * m_slices + m_slice; }
    /// A sentence for Checkpoint::evidence if they fold over slices; else empty.
    [[nodiscard]] std::string foldText() const;
    /// ZeRO-3: a Checkpoint's name for the fused tensor of an expert-parallel rank.
    static std::string nameOnRank(std::string_view fused, uint32_t rank);
    /// ZeRO-3: the name without the rank. Other names are unchanged.
    [[nodiscard]] std::string_view withoutRank(std::string_view name) const;
    /// The positions in unit.params where a parameter of the optimizer ends: every position, except inside
    /// fused tensors.
    [[nodiscard]] std::vector<uint32_t> optimizerEnds(
        const Checkpoint& checkpoint, const FlatUnit& unit) const;

private:
    Status readFolding(const PickleGraph& graph, NodeId folding);

    std::map<std::string, FusedLayer, std::less<>> m_layers; ///< by fused tensor
    uint32_t m_slices = 1;
    uint32_t m_slice = 0; ///< the model file's slice
};

/// The key that records folding in a run's files (checkpoint/autoep_universal.py).
inline constexpr std::string_view kFolding = "folding";

} // namespace shardscope
