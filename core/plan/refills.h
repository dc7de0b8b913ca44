// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/checkpoint.h"
#include "core/layout/fragments.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// Where elements come from that a checkpoint has lost: a state of another checkpoint, another state of its
/// own, or nowhere, which gives zeros. Parameters are the same by name, and elements by their number, so that
/// the other one may have any number of ranks. Filled while a repair is planned, then immutable and
/// thread-safe.
class Refills
{
public:
    /// `source`: the checkpoint that is mended, with what is lost left out.
    explicit Refills(CheckpointPtr source)
        : m_source(std::move(source))
    {
    }

    /// For a state of the source: a donor's state. Unsupported where one of the two stores matrices column by
    /// column; Refused, naming the parameter, where the donor lacks a parameter that is in `params`, has it
    /// in another shape, or has lost some of it itself.
    Status fill(const std::string& state, CheckpointPtr donor, const std::string& donorState,
        const std::vector<ParamId>& params);
    void fillWithZeros(const std::string& state) { m_byState[state] = {}; }
    [[nodiscard]] bool has(std::string_view state) const { return m_byState.find(state) != m_byState.end(); }

    /// The donors, each once, in the order in which they were named.
    [[nodiscard]] std::vector<CheckpointPtr> donors() const;
    /// FileId of a donor → index into WritePlan::sources().
    void setSources(const Checkpoint* donor, std::shared_ptr<const std::vector<uint32_t>> sourceOfFile);

    /// The run of a parameter's state that begins with an element, and the source that has it.
    struct Run {
        Fragment fragment; ///< of the donor; no elements: zeros
        uint32_t source = 0;
    };
    [[nodiscard]] Run runAt(ParamId param, std::string_view state, uint64_t element) const;

private:
    struct Choice {
        CheckpointPtr donor; ///< null: zeros
        std::string state;
    };
    CheckpointPtr m_source;
    std::map<std::string, Choice, std::less<>> m_byState;
    std::map<const Checkpoint*, std::shared_ptr<const std::vector<uint32_t>>> m_sources;
};

} // namespace shardscope
