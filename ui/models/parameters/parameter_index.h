// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder ui/models/parameters: filtering, sorting and finding among many parameters, and the tables of
// parameters and differences. Start with ParameterIndex, then ParameterFilter.

#include "core/layout/lost_shares.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::ui {

enum class ParamColumn : uint8_t {
    Name,
    Shape,
    Elements,
    Bytes,
    Ranks,
    Where,
    Padding,
    DType,
    Role,
    Group,
    States
};
inline constexpr int kParamColumns = 11;

/// One row's facts, computed once; index = ParamId.
struct ParamFacts {
    uint64_t bytes = 0; ///< all stored states, an alias counts its owner's as 0
    uint64_t lostBytes = 0; ///< not among `bytes`: no file has them
    DType dtype = DType::Unknown; ///< as modelDtype()
    uint16_t states = 0; ///< index into ParameterIndex::stateSets()
    /// Places in the partition of its unit, the last one included; no rank if `lastShare` is below. An alias
    /// has its owner's.
    uint32_t firstShare = 1;
    uint32_t lastShare = 0;
    uint64_t padding = 0; ///< elements next to it, on all ranks together
    /// Where its elements are among those of all ranks of its unit, 0 to 1.
    float begin = 0;
    float end = 0;

    [[nodiscard]] uint32_t ranks() const { return lastShare + 1 - firstShare; }
};

/// The index for filtering and sorting the parameter table: lower-case names in one block, facts, and one
/// order per column. A filter is one scan, and a sort needs no scan. Built on a worker; thread-safe.
class ParameterIndex
{
public:
    /// Null when stopped.
    static std::shared_ptr<const ParameterIndex> build(
        CheckpointPtr checkpoint, const std::stop_token& token);

    [[nodiscard]] const CheckpointPtr& checkpoint() const { return m_checkpoint; }
    [[nodiscard]] size_t size() const { return m_facts.size(); }
    [[nodiscard]] const ParamFacts& facts(ParamId param) const { return m_facts[index(param)]; }
    /// The parameter that its places are of: an alias without a unit of its own has its owner's.
    [[nodiscard]] ParamId placedAs(ParamId param) const;
    [[nodiscard]] const FlatUnit* unitOf(ParamId param) const { return m_checkpoint->unitOf(placedAs(param)); }
    [[nodiscard]] const std::vector<std::string>& stateSets() const { return m_stateSets; }
    [[nodiscard]] uint64_t maxBytes() const { return m_maxBytes; }
    /// Parts of ParamFacts::begin to end that no file has: pairs of ends, 0 to 1.
    [[nodiscard]] std::vector<std::pair<float, float>> lostParts(ParamId param) const;
    /// Whether all parameters have the same value; false for names and for less than two parameters.
    [[nodiscard]] bool isConstant(ParamColumn column) const;
    /// The parameter with the longest number or shape in a column.
    [[nodiscard]] ParamId widest(ParamColumn column) const;
    [[nodiscard]] std::string_view lowerName(size_t i) const
    {
        return std::string_view(m_names).substr(m_nameStarts[i], m_nameStarts[i + 1] - m_nameStarts[i] - 1);
    }
    /// All lower-case names, each followed by a zero byte; nameStarts() has one entry more than names.
    [[nodiscard]] std::string_view names() const { return m_names; }
    [[nodiscard]] const std::vector<size_t>& nameStarts() const { return m_nameStarts; }

    /// All parameters, ascending by the column, equal ones by name. Made on first use; takes time then.
    [[nodiscard]] const std::vector<uint32_t>& order(ParamColumn column) const;

private:
    [[nodiscard]] std::vector<uint32_t> makeOrder(ParamColumn column) const;
    [[nodiscard]] uint64_t keyOf(size_t param, ParamColumn column) const;
    void collectFacts();
    void compareFacts();

    CheckpointPtr m_checkpoint;
    std::string m_names;
    std::vector<size_t> m_nameStarts;
    std::vector<ParamFacts> m_facts;
    std::vector<std::string> m_stateSets;
    uint64_t m_maxBytes = 0;
    std::optional<LostShares> m_lost;
    std::array<bool, kParamColumns> m_constant{};
    std::array<uint32_t, kParamColumns> m_widest{};
    mutable std::array<std::once_flag, kParamColumns> m_orderOnce;
    mutable std::array<std::vector<uint32_t>, kParamColumns> m_orders;
};

using ParameterIndexPtr = std::shared_ptr<const ParameterIndex>;

} // namespace shardscope::ui
