// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/units/unit_states.h"

#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace shardscope {

/// The parts of readUniversal(). Source for the content of a universal folder: checkpoint/ds_to_universal.py.

/// zero/NAME: the files of one parameter, which are consecutive in the file table.
struct ParamFolder {
    std::string name;
    uint32_t firstFile = 0;
    uint32_t fileCount = 0;
};

/// "exp_avg" for zero/NAME/exp_avg.pt.
std::string_view stateOfFile(const CheckpointFile& file, const ParamFolder& folder);

/// Adds the files in zero/ to the file table. The folders are in ascending order of names.
Result<std::vector<ParamFolder>> listParamFolders(const Reading& reading);

/// The param groups, and the group of each list of `param_shapes`. There is one list per group for ZeRO-1/2
/// sources, one per sub-group for ZeRO-3 sources.
struct GroupPlan {
    std::vector<GroupEntry> groups; ///< options: from the mapping that all stages have
    std::vector<GroupEntry> nested; ///< from the torch state, which only ZeRO-3 loads
    std::vector<uint32_t> ownerOfList; ///< empty: the two files disagree
};
GroupPlan planGroups(const PickleGraph* optimizer, size_t shapeLists);

/// A trainable parameter of the model file.
struct Member {
    static constexpr uint32_t kNoFolder = std::numeric_limits<uint32_t>::max();

    std::string name;
    Shape shape;
    uint32_t folder = kNoFolder;
};

/// What was read from one state file.
struct StateFact {
    bool read = false; ///< it holds a usable tensor; else a finding reports why not
    bool flat = false; ///< 1-D
    bool vocabulary = false; ///< rows of padding were removed
    bool keptPadding = false; ///< they were not removed: releases before 0.12.3
    bool expert = false;
    DType dtype = DType::Unknown;
    StoredRun run; ///< of all its elements
};

struct StepFact {
    double value = 0;
    StepForm form = StepForm::Absent;
    DType type = DType::Float32;
};

/// Findings about single parameters. The first thousand of a kind are reported one by one, the rest as a
/// number: a folder that lost a state may have lost it for every parameter.
class ParamFindings
{
public:
    explicit ParamFindings(const Reading& reading)
        : m_reading(reading)
    {
    }
    void add(std::string_view code, Severity severity, std::string message, const std::string& param,
        std::string_view state, std::vector<std::string> evidence = {});
    /// Reports the numbers.
    void finish();

private:
    static constexpr uint64_t kEach = 1000;

    const Reading& m_reading;
    std::map<std::pair<std::string_view, std::string>, std::pair<Severity, uint64_t>> m_counts;
};

/// Facts of all state files, collected while each file is open. The contents of 300,000 parameters' files
/// would fill memory.
class StateFacts
{
public:
    /// Opens every state file of `folders`. Adds findings only for folders with `isMember` set.
    Status read(Reading& reading, const std::vector<ParamFolder>& folders, const std::vector<bool>& isMember,
        ParamFindings& findings);

    /// Null if the file was not opened or could not be read.
    [[nodiscard]] const StateFact* of(FileId file) const;
    [[nodiscard]] const StepFact* stepOf(FileId file) const;
    /// The shape that a dict in fp32.pt records for its tensor. Null for bare tensors and missing files.
    [[nodiscard]] const Shape* shapeOf(FileId file) const;

private:
    void take(const Reading& reading, FileId file, const ParamFolder& folder, ParamFindings& findings);
    void takeStep(const Reading& reading, FileId file, const ParamFolder& folder, ParamFindings& findings);

    uint32_t m_first = 0;
    std::vector<StateFact> m_facts; ///< by file, from m_first
    std::unordered_map<uint32_t, StepFact> m_steps;
    std::unordered_map<uint32_t, Shape> m_shapes;
};

/// The shape of a member in the model: the shape of its fp32.pt, if parallelism or vocabulary padding of the
/// source changed the one in `param_shapes`.
Shape resolveShape(const Member& member, const StateFact* master, const Shape* stored, bool parallelSource,
    ParamFindings& findings);

/// Fills states and step of a whole unit from its members' folders. The members are in the order of its
/// parameters. `expected`: states (possibly "step") that are missing if no member has them. False if there is
/// no step.pt and none is missing.
bool fillWholeUnit(const Reading& reading, FlatUnit& unit, const std::vector<Member>& members,
    const std::vector<ParamFolder>& folders, const StateFacts& facts, const std::set<std::string>& expected,
    ParamFindings& findings);

} // namespace shardscope
