// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/fused_experts.h"
#include "core/plan/emit/reshard_context.h"

#include <cstdint>

namespace shardscope {

/// What files of AutoEP record about which rank has which experts: `ds_autoep_layers` of model files
/// (runtime/engine.py, _save_moe_checkpoint), and `folding` of all files where experts fold over tensor
/// slices (checkpoint/autoep_universal.py). Stock's loader compares both with what its run has. Here they are
/// written for one data-parallel rank of a target. Does nothing for models without AutoEP. The context must
/// outlive it.
class ExpertRecords
{
public:
    ExpertRecords(const ReshardContext& context, uint32_t dpRank);

    /// In a model file, which lists the layers twice: the loader reads the one list, the converter to
    /// universal the other.
    void replaceInModelFile(ArchiveComposer& composer) const;
    void replaceInOptimFile(ArchiveComposer& composer) const;
    /// In an expert's own file, which records the experts' partition alone. Any rank that has the expert may
    /// have written the source's; the target's is the first one's.
    void replaceInExpertFile(ArchiveComposer& composer) const;

private:
    void replaceLayers(ArchiveComposer& composer, NodeId layers) const;
    void replaceFolding(ArchiveComposer& composer, uint32_t rank, uint32_t count) const;

    const ReshardContext& m_context;
    FusedExperts m_fused;
    uint32_t m_dpRank;
    int64_t m_expertRank = 0; ///< of the rank, among the expert-parallel ones
    uint32_t m_replica = 0; ///< its place among the ranks with the same experts
    uint32_t m_replicas = 1;
};

} // namespace shardscope
