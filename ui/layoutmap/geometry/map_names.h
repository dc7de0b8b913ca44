// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace shardscope::ui {

/// The name without the suffix that tells apart tensor slices, or copies of a tied module on pipeline stages.
std::string_view nameWithoutHolder(const Checkpoint& checkpoint, ParamId param);

/// Hues and layer numbers of a checkpoint's parameters, from their names. They are computed when the first of
/// them is asked for, as only some colours need them. Thread-safe.
class MapNames
{
public:
    static constexpr uint8_t kHues = 12;
    static constexpr uint32_t kNoLayer = 0xFFFFFFFFu;

    explicit MapNames(CheckpointPtr checkpoint);

    /// 0 … kHues−1, from the name alone: the same in every checkpoint, for all slices and copies of one name.
    /// Neighbours in the flat order nearly always differ.
    [[nodiscard]] uint8_t hueOf(ParamId param) const;
    /// The first number in the dotted name, kNoLayer when there is none; and the highest of them.
    [[nodiscard]] uint32_t layerOf(ParamId param) const;
    [[nodiscard]] uint32_t highestLayer() const;
    /// Whether any name has a layer. Looks at names until one has: cheap for models, which have layers.
    [[nodiscard]] bool hasLayers() const;
    /// Whether the names were read: then the functions above return at once. See readAhead().
    [[nodiscard]] bool isRead() const { return m_isRead.load(std::memory_order_acquire); }
    /// Reads them, for a worker.
    void readAhead() const;

private:
    void read() const;

    CheckpointPtr m_checkpoint;
    mutable std::once_flag m_read;
    mutable std::atomic<bool> m_isRead = false;
    mutable std::vector<uint8_t> m_hues; ///< index = ParamId
    mutable std::vector<uint32_t> m_layers;
    mutable uint32_t m_highestLayer = 0;
};
using MapNamesPtr = std::shared_ptr<const MapNames>;

} // namespace shardscope::ui
