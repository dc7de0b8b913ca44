// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/tensorview: the values of one tensor as grid, bytes, heat map and histogram. Start with
// TensorSource, then TensorPages and TensorGrid.

#include "core/checkpoint/model/checkpoint.h"

#include <QString>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::ui {

/// One state of one parameter, as the tensor page shows it. Immutable; shared with workers.
struct TensorSource {
    CheckpointPtr checkpoint;
    ParamId param = kNoParam; ///< the owner, if an alias was requested
    std::string name; ///< as requested
    std::string state;
    DType dtype = DType::Unknown;
    Shape shape; ///< one dimension where the state's is not the parameter's
    uint64_t elements = 0;

    /// Null when the parameter has no such state.
    static std::shared_ptr<const TensorSource> make(
        const CheckpointPtr& checkpoint, ParamId param, const std::string& state);

    [[nodiscard]] uint32_t itemBytes() const { return itemSize(dtype); }
    [[nodiscard]] uint64_t bytes() const { return elements * itemBytes(); }
    /// Whether its files are on another host: then a picture reads all elements of at most kWholeFarBytes,
    /// which take a tenth of a second at 20 Mbit/s.
    [[nodiscard]] bool isFar() const;
    static constexpr uint64_t kWholeFarBytes = uint64_t{256} << 10;
    /// "[3, 17]"; "[]" for a tensor without dimensions.
    [[nodiscard]] QString indexText(uint64_t element) const;
    /// The address of elements [begin, end), as every verb takes it.
    [[nodiscard]] std::string address(uint64_t begin, uint64_t end) const;
};
using TensorSourcePtr = std::shared_ptr<const TensorSource>;

/// Position of an element in every dimension.
std::vector<uint64_t> indexOf(const Shape& shape, uint64_t element);

} // namespace shardscope::ui
