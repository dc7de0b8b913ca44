// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/digest/state_digest.h"

#include <optional>
#include <vector>

namespace shardscope {

/// Whether 16-bit copies of float32 masters have that dtype.
[[nodiscard]] bool isCopyType(DType dtype);

/// Which tensors are 16-bit copies of which float32 masters, so that a scan can digest every master as it is
/// and rounded to the dtype of its copy. Immutable; thread-safe.
class CopiesOfMasters
{
public:
    /// Neither is kept.
    CopiesOfMasters(const Checkpoint& checkpoint, const TensorTable& table);

    /// The copy of the tensor with that index, if it is a master with one.
    [[nodiscard]] std::optional<uint32_t> copyOf(uint32_t tensor) const;
    /// The owners of the masters whose rounded elements are not, bit for bit and each at its place, those of
    /// the copy; also where either was not read whole. Ascending.
    [[nodiscard]] std::vector<ParamId> unlikeCopies(
        const TensorTable& table, const CheckpointScan& scan) const;

private:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;
    std::vector<uint32_t> m_copies; ///< by tensor
};

} // namespace shardscope
