// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <string>
#include <vector>

namespace shardscope {

/// Numbers every tensor of a checkpoint's training state and weights: for each flat unit its states ×
/// parameters, then the whole tensors. Small: one number per unit; names are looked up. Immutable;
/// thread-safe.
class TensorTable
{
public:
    explicit TensorTable(CheckpointPtr checkpoint);

    [[nodiscard]] uint32_t size() const { return m_size; }
    /// A parameter's state in a flat unit; `state` is its index in the unit's states.
    [[nodiscard]] uint32_t indexOf(ParamId param, uint32_t state) const;
    /// The i-th entry of Checkpoint::whole.
    [[nodiscard]] uint32_t indexOfWhole(uint32_t i) const { return m_wholeBegin + i; }

    /// One of Checkpoint::whole.
    [[nodiscard]] bool isWhole(uint32_t index) const { return index >= m_wholeBegin; }

    struct Entry {
        ParamId param = kNoParam;
        std::string_view state;
        DType dtype = DType::Unknown;
        bool inFingerprint = true; ///< false for 16-bit copies of masters
        bool isMaster = false; ///< the first state of what is trained
    };
    [[nodiscard]] Entry entry(uint32_t index) const;

private:
    CheckpointPtr m_checkpoint;
    std::vector<uint32_t> m_unitBegin;
    uint32_t m_wholeBegin = 0;
    uint32_t m_size = 0;
};

} // namespace shardscope
