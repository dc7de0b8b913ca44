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

/// The parts that readUniversal() is made of. What a universal folder holds: checkpoint/ds_to_universal.py.

/// zero/NAME: the files of one parameter, which follow each other in the file table.
struct ParamFolder {
    std::string name;
    uint32_t firstFile = 0;
    uint32_t fileCount = 0;
};

/// "exp_avg" for zero/NAME/exp_avg.pt.
std::string_view stateOfFile(const CheckpointFile& file, const ParamFolder& folder);

/// Adds the files below zero/ to the file table. The folders ascend by name.
Result<std::vector<ParamFolder>> listParamFolders(const Reading& reading);

/// The param groups, and to which of them each list of `param_shapes` belongs: one list per group for
/// ZeRO-1/2 sources, one per sub-group for ZeRO-3 sources.
struct GroupPlan {
    std::vector<GroupEntry> groups; ///< options: of the mapping that all stages have
    std::vector<GroupEntry> nested; ///< of the torch state that only ZeRO-3 loads
    std::vector<uint32_t> ownerOfList; ///< empty: the two files disagree
};
GroupPlan planGroups(const PickleGraph* optimizer, size_t shapeLists);

/// A trainable parameter, as the model file lists it.
struct Member {
    static constexpr uint32_t kNoFolder = std::numeric_limits<uint32_t>::max();

    std::string name;
    Shape shape;
    uint32_t folder = kNoFolder;
};

/// What one state file holds.
struct StateFact {
    bool read = false; ///< it holds a usable tensor; else a finding says why not
    bool flat = false; ///< 1-D
    bool vocabulary = false; ///< rows of padding were cut off
    bool keptPadding = false; ///< they were not: releases before 0.12.3
    bool expert = false;
    DType dtype = DType::Unknown;
    StoredRun run; ///< of all its elements
};

struct StepFact {
    double value = 0;
    StepForm form = StepForm::Absent;
    DType type = DType::Float32;
};

/// Findings about single parameters: the first thousand of a kind one by one, the rest as a number. A folder
/// that lost a state may have lost it for every parameter of the model.
class ParamFindings
{
public:
    explicit ParamFindings(const Reading& reading)
        : m_reading(reading)
    {
    }
    void add(std::string_view code, Severity severity, std::string message, const std::string& param,
        std::string_view state, std::vector<std::string> evidence = {});
    /// The numbers.
    void finish();

private:
    static constexpr uint64_t kEach = 1000;

    const Reading& m_reading;
    std::map<std::pair<std::string_view, std::string>, std::pair<Severity, uint64_t>> m_counts;
};

/// Facts of all state files, taken while the files pass by: of 300,000 parameters their contents would fill
/// memory.
class StateFacts
{
public:
    /// Opens every state file of `folders`. Findings concern those folders whose `isMember` is set.
    Status read(Reading& reading, const std::vector<ParamFolder>& folders, const std::vector<bool>& isMember,
        ParamFindings& findings);

    /// Null where the file was not opened or could not be read.
    [[nodiscard]] const StateFact* of(FileId file) const;
    [[nodiscard]] const StepFact* stepOf(FileId file) const;
    /// The shape that a dict in fp32.pt gives its tensor; null for bare tensors and what is not there.
    [[nodiscard]] const Shape* shapeOf(FileId file) const;

private:
    void take(const Reading& reading, FileId file, const ParamFolder& folder, ParamFindings& findings);
    void takeStep(const Reading& reading, FileId file, const ParamFolder& folder, ParamFindings& findings);

    uint32_t m_first = 0;
    std::vector<StateFact> m_facts; ///< by file, from m_first
    std::unordered_map<uint32_t, StepFact> m_steps;
    std::unordered_map<uint32_t, Shape> m_shapes;
};

/// The shape that the model has for a member: that of its fp32.pt, where parallelism or vocabulary padding
/// of the source makes `param_shapes` another one.
Shape resolveShape(const Member& member, const StateFact* master, const Shape* stored, bool parallelSource,
    ParamFindings& findings);

/// Fills states and step of a whole unit from its members' folders; the members are in the order of its
/// parameters. `expected`: states ("step" among them) that are missing where no member has them. False when
/// there is no step.pt, and none is missing.
bool fillWholeUnit(const Reading& reading, FlatUnit& unit, const std::vector<Member>& members,
    const std::vector<ParamFolder>& folders, const StateFacts& facts, const std::set<std::string>& expected,
    ParamFindings& findings);

} // namespace shardscope
