// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// One layer of which AutoEP shares the experts out (`expert_parallel`, DeepSpeed 0.19.2 and later).
struct FusedLayer {
    uint32_t localExperts = 0; ///< of every expert-parallel rank
    uint32_t ranks = 1; ///< expert-parallel
};

/// The experts that AutoEP keeps in one tensor per expert-parallel rank: PREFIX.w1, .w2 and .w3, whose first
/// dimension counts the rank's own (module_inject/auto_ep_layer.py). Optimizer files and param_shapes name
/// those tensors. Expert files hold every expert by itself, PREFIX.w1.X with X counted over all
/// (runtime/engine.py, _save_moe_checkpoint), and a Checkpoint lists them so: a tensor's experts lie in its
/// flat data one after another. `ds_autoep_layers` of the model file alone tells which tensors these are.
///
/// Under ZeRO-3 (0.19.3 and later) there are no expert files: every expert-parallel rank partitions its
/// tensor as one, over the ranks that have the same experts. A Checkpoint lists such a tensor per
/// expert-parallel rank, PREFIX.w1:epK.
///
/// Where there are tensor slices, too (`folding`, AutoTP), expert-parallel ranks fold over slices and
/// data-parallel ranks: of the rank at data-parallel rank D in slice T it is (D × slices + T) mod ranks()
/// (module_inject/auto_ep_folding.py), so that every slice's files have experts of their own.
/// Immutable; thread-safe.
class FusedExperts
{
public:
    /// Of a model file's root; none where it has no `ds_autoep_layers`. Damaged where an entry lacks what
    /// stock DeepSpeed asks of it, Unsupported for experts that are not in files of their own, not dealt
    /// evenly in their order, or folded over slices that do not divide the expert-parallel ranks: then
    /// several slices share the partition of one tensor.
    static Result<FusedExperts> read(const PickleGraph& graph, NodeId modelRoot, bool zero3 = false);
    /// Those that the parameters of a ZeRO checkpoint were listed by; none for other kinds.
    static FusedExperts of(const Checkpoint& checkpoint);

    [[nodiscard]] bool isEmpty() const { return m_layers.empty(); }
    [[nodiscard]] size_t tensors() const { return m_layers.size(); } ///< fused ones, of all layers
    /// By the name of a fused tensor; null for all other names.
    [[nodiscard]] const FusedLayer* layerOf(std::string_view fused) const;
    /// For PREFIX.w1.X, PREFIX.w1; empty for all other names.
    [[nodiscard]] std::string_view fusedNameOf(std::string_view name) const;
    /// Expert-parallel ranks; 1 where there are no experts.
    [[nodiscard]] uint32_t ranks() const { return isEmpty() ? 1 : m_layers.begin()->second.ranks; }
    /// Tensor slices that they fold over; 1 where there are none.
    [[nodiscard]] uint32_t slices() const { return m_slices; }
    /// Expert-parallel ranks in this slice: the families that its data-parallel ranks come in.
    [[nodiscard]] uint32_t families() const { return ranks() / m_slices; }
    /// The expert-parallel rank of one of them.
    [[nodiscard]] uint32_t rankOf(uint32_t family) const { return family * m_slices + m_slice; }
    /// The rank among all of this pipeline stage, as process groups count them.
    [[nodiscard]] uint32_t stageRankOf(uint32_t dpRank) const { return dpRank * m_slices + m_slice; }
    /// A sentence for Checkpoint::evidence where they fold over slices; else empty.
    [[nodiscard]] std::string foldText() const;
    /// ZeRO-3: how a Checkpoint names the fused tensor of an expert-parallel rank.
    static std::string nameOnRank(std::string_view fused, uint32_t rank);
    /// ZeRO-3: the same without the rank; other names as they are.
    [[nodiscard]] std::string_view withoutRank(std::string_view name) const;
    /// The positions in unit.params at which a parameter of the optimizer ends: all but for fused ones.
    [[nodiscard]] std::vector<uint32_t> optimizerEnds(
        const Checkpoint& checkpoint, const FlatUnit& unit) const;

private:
    Status readFolding(const PickleGraph& graph, NodeId folding);

    std::map<std::string, FusedLayer, std::less<>> m_layers; ///< by fused tensor
    uint32_t m_slices = 1;
    uint32_t m_slice = 0; ///< that the model file is of
};

/// What files of a folded run tell of it (checkpoint/autoep_universal.py).
inline constexpr std::string_view kFolding = "folding";

} // namespace shardscope
