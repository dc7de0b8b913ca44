// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/dcp/dcp_archives.h"
#include "core/checkpoint/dcp/dcp_native.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// The entries of one parameter.
struct DcpHeld {
    const DcpEntry* weight = nullptr;
    std::map<std::string, const DcpEntry*> states; ///< of the parameter's shape
    const DcpEntry* step = nullptr; ///< a tensor, or an object that is a number
};

/// Builds the units, param groups and whole tensors of a distributed checkpoint from its parameters' entries.
///
/// Consecutive parameters of one group share a unit if they are stored whole and have the same states and
/// step, as in a universal folder. A partitioned parameter is a unit of its own. A parameter is trainable if
/// a group lists it or it has states. One thread at a time.
class DcpUnits
{
public:
    /// `members`: names by param group, in order. `steps`: how each group's optimizer stores the step, if
    /// recorded.
    DcpUnits(DcpArchives& archives, Checkpoint& out, const std::vector<std::vector<std::string>>& members,
        const std::vector<std::optional<DcpStepForm>>& steps);

    /// `held`: by parameter. Cancelled when stopped; LimitExceeded where a group has too many elements.
    Status add(const std::vector<DcpHeld>& held, JobContext& job);
    /// Whether something is missing. A finding reports it.
    [[nodiscard]] bool anyLost() const { return m_anyLost; }

private:
    struct Step {
        std::optional<double> value;
        DcpStepForm form;
    };
    struct ReadState {
        std::string name;
        const DcpEntry* entry = nullptr;
        std::vector<DcpStored> chunks; ///< by chunk of the entry
        [[nodiscard]] bool isPlain() const;
    };
    void arrange(const std::vector<DcpHeld>& held);
    Status addOne(ParamId id, const DcpHeld& held);
    Status addUnit(ParamId id, const DcpHeld& held);
    Result<ReadState> readState(std::string name, const DcpEntry& entry);
    bool addState(FlatUnit& unit, ReadState read);
    Result<Step> stepOf(const DcpHeld& held);
    Result<Step> readStep(const DcpEntry& entry);
    bool continuesLast(const FlatUnit& unit) const;
    void take(ParamId id, FlatUnit unit);
    Status finish();

    DcpArchives& m_archives;
    Checkpoint& m_out;
    const std::vector<std::vector<std::string>>& m_members;
    const std::vector<std::optional<DcpStepForm>>& m_steps;
    std::vector<std::shared_ptr<TensorMap>>
        m_growing; ///< of the last unit's states; empty unless all are tensors
    std::vector<ParamId> m_order; ///< parameters of groups first, in each group's order
    std::map<ParamId, int32_t> m_groupOf;
    std::map<std::pair<FileId, uint64_t>, Step> m_knownSteps;
    bool m_anyLost = false;
};

} // namespace shardscope
