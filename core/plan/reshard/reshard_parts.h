// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/emit/reshard_context.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardscope {

/// The contexts of all parts of a checkpoint as one list of sources and tensors. Every part is planned by
/// itself: a model-parallel rank's files depend on nothing of the others'. A file that several parts read, as
/// slices that are split from one do, is one source. Once they are taken, nothing
/// changes any more.
class ReshardParts
{
public:
    /// `contexts` in the order of whole->parts, or the only one of a checkpoint without parts.
    ReshardParts(CheckpointPtr whole, std::vector<std::shared_ptr<const ReshardContext>> contexts);

    [[nodiscard]] const std::vector<std::shared_ptr<const ReshardContext>>& contexts() const
    {
        return m_contexts;
    }
    /// The lists of a plan.
    [[nodiscard]] std::vector<PlanSource> takeSources() { return std::move(m_sources); }
    [[nodiscard]] std::vector<PlanTensor> takeTensors() { return std::move(m_tensors); }
    /// A recipe of one part, with its sources and tensors numbered as in these lists.
    [[nodiscard]] OutputFile numbered(size_t part, OutputFile recipe) const;
    /// Units of the target with parameters of the whole checkpoint, in the order of the parts.
    [[nodiscard]] std::vector<FlatUnit> targetUnits() const;
    /// The digests of the tensors in the order of the whole checkpoint's table.
    [[nodiscard]] std::vector<Digest> inOrderOfSource(std::span<const Digest> digests) const;

private:
    void add(const ReshardContext& context, uint32_t firstParam);

    CheckpointPtr m_whole;
    std::vector<std::shared_ptr<const ReshardContext>> m_contexts;
    /// Per part: its sources in the list of all.
    std::vector<std::shared_ptr<const std::vector<uint32_t>>> m_sourceNumbers;
    std::vector<uint32_t> m_firstTensor; ///< per part
    std::vector<PlanSource> m_sources;
    std::unordered_map<std::string, uint32_t> m_sourceOf; ///< path → source
    std::vector<PlanTensor> m_tensors;
};

} // namespace shardscope
