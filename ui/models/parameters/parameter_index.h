// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/models/parameters: filtering, sorting and finding among many parameters, and the tables of
// parameters and differences. It uses ui/{models,jobs,text}, core/checkpoint/model and lower rooms. Start
// with ParameterIndex, then ParameterFilter.

#include "core/checkpoint/model/checkpoint.h"

#include <array>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::ui {

enum class ParamColumn : uint8_t { Name, Shape, Elements, Bytes, DType, Kind, Group, States };
inline constexpr int kParamColumns = 8;

/// One row's facts, computed once; index = ParamId.
struct ParamFacts {
    uint64_t bytes = 0; ///< all stored states, an alias counts its owner's as 0
    DType dtype = DType::Unknown; ///< of the weight, else of the first state
    uint16_t states = 0; ///< index into ParameterIndex::stateSets()
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
    [[nodiscard]] const std::vector<std::string>& stateSets() const { return m_stateSets; }
    [[nodiscard]] uint64_t maxBytes() const { return m_maxBytes; }
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
    void collectFacts();

    CheckpointPtr m_checkpoint;
    std::string m_names;
    std::vector<size_t> m_nameStarts;
    std::vector<ParamFacts> m_facts;
    std::vector<std::string> m_stateSets;
    uint64_t m_maxBytes = 0;
    mutable std::array<std::once_flag, kParamColumns> m_orderOnce;
    mutable std::array<std::vector<uint32_t>, kParamColumns> m_orders;
};

using ParameterIndexPtr = std::shared_ptr<const ParameterIndex>;

} // namespace shardscope::ui
