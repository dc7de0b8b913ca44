// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"

#include <vector>

namespace shardscope {

/// Lists the sums of a piece's elements, copies as well: whether they count is decided when all pieces are
/// combined. Not thread-safe.
class RecordedElements final : public ElementSums
{
public:
    explicit RecordedElements(const TensorKeys& keys)
        : m_keys(keys)
    {
    }

    [[nodiscard]] uint32_t itemBytes(uint32_t tensor) const override { return m_keys.itemBytes(tensor); }
    void claim(uint32_t tensor, uint64_t firstElement, uint64_t offset, std::span<const uint8_t> bytes,
        SumBatch& batch) override;
    void add(SumBatch& batch) override;
    [[nodiscard]] std::vector<ElementsSum> take() { return std::move(m_sums); }

private:
    const TensorKeys& m_keys;
    std::vector<ElementsSum> m_sums;
};

/// The same for the CRCs of source records. Not thread-safe.
class RecordedSources final : public SourceSums
{
public:
    explicit RecordedSources(const std::vector<PlanSource>& sources)
        : m_sources(sources)
    {
    }

    void touch(uint32_t source, uint32_t record) override;
    void claim(uint32_t source, uint32_t record, ByteRange range, std::vector<ByteRange>& unclaimed) override;
    Status complete(uint32_t source, uint32_t record, ByteRange range, uint32_t crc) override;

    [[nodiscard]] std::vector<SourcePart> takeParts() { return std::move(m_parts); }
    [[nodiscard]] std::vector<std::pair<uint32_t, uint32_t>> takeTouched() { return std::move(m_touched); }

private:
    const std::vector<PlanSource>& m_sources;
    std::vector<SourcePart> m_parts;
    std::vector<std::pair<uint32_t, uint32_t>> m_touched;
};

} // namespace shardscope
