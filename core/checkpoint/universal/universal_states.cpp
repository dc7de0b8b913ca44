// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/universal/universal.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

constexpr std::array<std::string_view, 3> kFirst{"fp32", "exp_avg", "exp_avg_sq"};

bool isMoment(std::string_view state)
{
    return state == "exp_avg" || state == "exp_avg_sq";
}

/// fp32, exp_avg, exp_avg_sq, then by name.
bool stateLess(const std::string& a, const std::string& b)
{
    const auto rank = [](const std::string& name) {
        return std::find(kFirst.begin(), kFirst.end(), name) - kFirst.begin();
    };
    return std::pair(rank(a), a) < std::pair(rank(b), b);
}

/// The folders of one param group, by state.
class WholeUnitFiller
{
public:
    WholeUnitFiller(const Reading& reading, FlatUnit& unit, const std::vector<Member>& members,
        const std::vector<ParamFolder>& folders, const StateFacts& facts,
        const std::set<std::string>& expected, ParamFindings& findings)
        : m_reading(reading)
        , m_unit(unit)
        , m_members(members)
        , m_folders(folders)
        , m_facts(facts)
        , m_findings(findings)
    {
        m_files[std::string(kFirst[0])]; // masters are required
        for (const std::string& state : expected)
            m_files[state];
    }

    /// Whether any member has a step.pt.
    bool run()
    {
        collectFiles();
        bool steps = false;
        for (const auto& [state, files] : m_files) {
            // DeepSpeed treats every file as a state. If only few parameters have it, it was added by someone
            // else.
            const bool few = files.size() * 2 < m_expected;
            if (state == "step") {
                steps = true;
                fillStep(byMember(files));
            } else if (few && state != kFirst[0] && !isMoment(state)) {
                markStray(state, files);
            } else {
                m_unit.states.push_back(stateOf(state, byMember(files)));
            }
        }
        std::sort(m_unit.states.begin(), m_unit.states.end(),
            [](const UnitState& a, const UnitState& b) { return stateLess(a.name, b.name); });
        if (m_reading.depth == OpenDepth::Full)
            noteLostMoments();
        return steps;
    }

private:
    /// Files of one state, with their positions in the unit. Sparse, because few parameters may have the
    /// name.
    using StateFiles = std::vector<std::pair<uint32_t, FileId>>;

    void collectFiles()
    {
        for (uint32_t i = 0; i < m_members.size(); ++i) {
            m_expected += elementsOf(i) > 0 ? 1 : 0;
            if (m_members[i].folder == Member::kNoFolder)
                continue;
            const ParamFolder& folder = m_folders[m_members[i].folder];
            for (uint32_t f = 0; f < folder.fileCount; ++f) {
                const FileId id{folder.firstFile + f};
                m_files[std::string(stateOfFile(m_reading.out.file(id), folder))].emplace_back(i, id);
            }
        }
    }

    [[nodiscard]] std::vector<FileId> byMember(const StateFiles& files) const
    {
        std::vector<FileId> out(m_members.size(), kNoFile);
        for (const auto& [position, id] : files)
            out[position] = id;
        return out;
    }

    void fillStep(const std::vector<FileId>& files)
    {
        std::map<double, size_t> counts;
        for (const FileId id : files) {
            if (const StepFact* step = id == kNoFile ? nullptr : m_facts.stepOf(id))
                ++counts[step->value];
        }
        if (m_reading.depth != OpenDepth::Full)
            return;
        double usual = 0; // stays 0 if none can be read; findings report that
        size_t most = 0;
        for (const auto& [step, count] : counts) {
            if (count > most)
                usual = step;
            most = std::max(most, count);
        }
        for (size_t i = 0; i < m_members.size(); ++i)
            checkStep(m_members[i], files[i], usual);
    }

    [[nodiscard]] uint64_t elementsOf(size_t i) const
    {
        return m_unit.partition.paramElements(static_cast<uint32_t>(i));
    }

    void markStray(const std::string& state, const StateFiles& files)
    {
        for (const auto& [position, id] : files) {
            m_reading.out.files[index(id)].status = FileStatus::Foreign;
            m_findings.add(code::kForeignFile, Severity::Warning,
                "most parameters of the group have no such file, so it is not treated as an optimizer state",
                m_members[position].name, state, {"stock DeepSpeed loads every file of the folder"});
        }
    }

    UnitState stateOf(const std::string& name, const std::vector<FileId>& files)
    {
        UnitState state;
        state.name = name;
        state.perRank.resize(1);
        const auto first = std::find_if(files.begin(), files.end(), [](FileId id) { return id != kNoFile; });
        if (m_reading.depth == OpenDepth::Structure) {
            if (first != files.end())
                state.perRank.front() = {*first, StoredRun::kNoRecord, 0, 0};
            return state;
        }
        state.dtype = usualType(files);
        std::vector<StoredRun> tensors(files.size());
        for (size_t i = 0; i < files.size(); ++i) {
            const auto run = runOf(i, state, files[i]);
            if (!run)
                continue;
            tensors[i] = *run;
            if (!state.perRank.front().isPresent())
                state.perRank.front()
                    = {run->file, StoredRun::kNoRecord, 0, m_unit.partition.payloadElements()};
        }
        state.elements = std::make_shared<const TensorMap>(std::move(tensors));
        return state;
    }

    [[nodiscard]] DType usualType(const std::vector<FileId>& files) const
    {
        std::map<DType, size_t> counts;
        DType usual = DType::Float32;
        for (const FileId id : files) {
            const StateFact* fact = id == kNoFile ? nullptr : m_facts.of(id);
            if (fact != nullptr && ++counts[fact->dtype] > counts[usual])
                usual = fact->dtype;
        }
        return usual;
    }

    std::optional<StoredRun> runOf(size_t i, const UnitState& state, FileId file)
    {
        const uint64_t elements = elementsOf(i);
        const std::string& name = m_members[i].name;
        if (file == kNoFile) {
            if (elements > 0)
                m_findings.add(code::kStateMissing, Severity::Error, "the file of this state is missing",
                    name, state.name,
                    {std::string(kUniversalFolder) + "/" + name + "/" + state.name + ".pt"});
            return std::nullopt;
        }
        const StateFact* fact = m_facts.of(file);
        if (fact == nullptr)
            return std::nullopt;
        if (fact->dtype != state.dtype) {
            m_findings.add(code::kTensorInvalid, Severity::Error,
                "the parameter stores this state in another dtype than the others of its group", name,
                state.name,
                {std::string(dtypeName(fact->dtype)) + " here, " + std::string(dtypeName(state.dtype))
                    + " elsewhere"});
            return std::nullopt;
        }
        const std::vector<std::string> lengths{
            std::to_string(fact->run.elements) + " stored", std::to_string(elements) + " expected"};
        StoredRun run = fact->run;
        if (run.elements > elements && fact->flat) {
            m_findings.add(code::kUniversalOverlong, Severity::Warning,
                "the file has more elements than the parameter, as the converter of DeepSpeed 0.14.5 to "
                "0.19.2 leaves it; the first ones are used",
                name, state.name, lengths);
            run.elements = elements;
        } else if (run.elements != elements) {
            m_findings.add(code::kStateLength, Severity::Error,
                "the number of elements of the file is not that of the parameter", name, state.name, lengths);
            return std::nullopt;
        }
        return run;
    }

    /// If the converter of 0.19.8 does not find a parameter's shards with its glob, it skips the parameter.
    /// It then writes fp32.pt from the 16-bit copy, so that file does not hold masters.
    void noteLostMoments()
    {
        if (m_unit.states.size() < 2)
            return;
        for (size_t i = 0; i < m_members.size(); ++i) {
            const bool lost = elementsOf(i) > 0 && m_unit.states.front().tensorOf(i)
                && std::none_of(m_unit.states.begin() + 1, m_unit.states.end(),
                    [&](const UnitState& state) { return state.tensorOf(i); });
            if (lost)
                m_findings.add(code::kUniversalSource, Severity::Error,
                    "the parameter has no optimizer state, so its fp32.pt is probably only a copy of the "
                    "16-bit weights",
                    m_members[i].name, kFirst[0],
                    {"the converter loses parameters whose names have a [ or * in them"});
        }
    }

    void checkStep(const Member& member, FileId file, double usual)
    {
        const StepFact* step = file == kNoFile ? nullptr : m_facts.stepOf(file);
        if (step == nullptr) {
            if (file == kNoFile && elementCount(member.shape) != uint64_t{0})
                m_findings.add(code::kStateMissing, Severity::Error, "the file of the step is missing",
                    member.name, "step", {std::string(kUniversalFolder) + "/" + member.name + "/step.pt"});
            return;
        }
        if (step->value != usual) {
            m_findings.add(code::kStepMismatch, Severity::Error,
                "the parameter is at another step than the others of its group", member.name, "step",
                {"here: " + shortRealText(step->value), "elsewhere: " + shortRealText(usual)});
            return;
        }
        if (m_unit.step)
            return;
        m_unit.step = step->value;
        m_unit.stepForm = step->form;
        m_unit.stepType = step->type;
    }

    const Reading& m_reading;
    FlatUnit& m_unit;
    const std::vector<Member>& m_members;
    const std::vector<ParamFolder>& m_folders;
    const StateFacts& m_facts;
    ParamFindings& m_findings;
    std::map<std::string, StateFiles> m_files;
    size_t m_expected = 0; ///< number of parameters with elements
};

} // namespace

Shape resolveShape(const Member& member, const StateFact* master, const Shape* stored, bool parallelSource,
    ParamFindings& findings)
{
    const auto note = [&](const std::string& what) {
        findings.add(code::kUniversalSource, Severity::Info, what, member.name, kFirst[0],
            {shapeText(*stored) + " here, " + shapeText(member.shape) + " in the model file"});
    };
    if (master == nullptr || stored == nullptr)
        return member.shape;
    if (master->keptPadding)
        note("DeepSpeed before 0.12.3 did not remove the vocabulary's rows of padding");
    if (elementCount(*stored) == elementCount(member.shape) || stored->size() != member.shape.size()
        || stored->empty())
        return member.shape;
    const bool sameRows = std::equal(stored->begin() + 1, stored->end(), member.shape.begin() + 1);
    const bool merged = (parallelSource || master->expert)
        && std::equal(stored->begin() + (master->vocabulary ? 1 : 0), stored->end(),
            member.shape.begin() + (master->vocabulary ? 1 : 0),
            [](uint64_t here, uint64_t shard) { return here >= shard; });
    if (master->vocabulary && (sameRows || merged))
        note("the vocabulary's rows of padding were removed");
    else if (merged)
        note("the shards of parallel ranks were merged");
    else
        return member.shape;
    return *stored;
}

bool fillWholeUnit(const Reading& reading, FlatUnit& unit, const std::vector<Member>& members,
    const std::vector<ParamFolder>& folders, const StateFacts& facts, const std::set<std::string>& expected,
    ParamFindings& findings)
{
    return WholeUnitFiller(reading, unit, members, folders, facts, expected, findings).run();
}

} // namespace shardscope
