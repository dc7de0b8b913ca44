// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/fragments.h"
#include "ui/tensorview/tensor_source.h"

#include <optional>
#include <vector>

namespace shardscope::ui {

/// Which rank holds each element of a tensor, and where its bytes are. Immutable; shared with workers.
class ElementPlaces
{
public:
    explicit ElementPlaces(TensorSourcePtr source);

    /// Elements that one rank holds, which follow each other in stored order.
    struct Run {
        uint64_t begin = 0;
        uint64_t end = 0;
        RankCoordinate rank;
    };
    static constexpr size_t kNoRun = ~size_t{0};

    [[nodiscard]] const TensorSourcePtr& source() const { return m_source; }
    /// Empty if one rank holds all of the tensor.
    [[nodiscard]] const std::vector<Run>& runs() const { return m_runs; }
    /// The run of an element as an index, kNoRun if the tensor is not divided.
    [[nodiscard]] size_t runOf(uint64_t element) const;
    /// Whether the runs are in the order of the elements. Else they count elements column by column.
    [[nodiscard]] bool inOrder() const { return !m_order.has_value(); }
    /// "dp 1"
    [[nodiscard]] QString rankText(size_t run) const;
    /// "dp 1 holds elements 8,192 to 16,383"; empty if the tensor is not divided.
    [[nodiscard]] QString runText(uint64_t element) const;
    /// The element's bytes in a file; empty if they are in none.
    [[nodiscard]] std::optional<Fragment> fragmentAt(uint64_t element) const;

private:
    TensorSourcePtr m_source;
    std::optional<StateSource> m_state;
    std::optional<TransposedOrder> m_order;
    std::vector<Run> m_runs;
};
using ElementPlacesPtr = std::shared_ptr<const ElementPlaces>;

} // namespace shardscope::ui
