// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/naming/old_shapes.h"

#include "core/checkpoint/experts/expert_families.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/naming/expert_tensors.h"
#include "core/checkpoint/naming/group_search.h"
#include "core/checkpoint/naming/mapped_shapes.h"
#include "core/checkpoint/naming/nameless_groups.h"
#include "core/checkpoint/units/model_ranks.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope {

namespace {

/// A parameter that may be in a group. Candidates are in the order in which the checkpoint names them.
struct Candidate {
    std::string_view name;
    Shape shape;
    uint64_t elements = 0;
    const ModuleTensor* copy = nullptr; ///< of its first tensor; null if no file has one
    bool expert = false; ///< is in groups of fewer ranks, if there are any
};

class OldShapes
{
public:
    explicit OldShapes(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_fused(FusedExperts::of(reading.out))
    {
    }

    std::optional<ShapeLists> find()
    {
        const auto loaded = loadFiles(m_reading, m_out.optimFiles);
        m_groups = loaded ? readNamelessGroups(m_reading) : std::vector<NamelessGroup>();
        if (m_groups.empty()) {
            m_reading.noModel(
                {ErrorCode::Damaged, "no optimizer file of this checkpoint records its param groups",
                    m_out.tagFolder.string(), {}});
            return std::nullopt;
        }
        m_ranks = m_reading.worldSize;
        const bool mapped = takeMapping();
        if (!mapped && partitionsParameters(m_out.kind)) {
            m_reading.refuse("no file lists the shapes of its parameters, as ZeRO-3 before 0.3.14 does not");
            return std::nullopt;
        }
        if (!partitionsParameters(m_out.kind))
            takeCopies(mapped);
        if (mapped && splitInOrder())
            return listed(
                "`param_shapes` of the optimizer files is one mapping; its groups follow from lengths");
        if (m_out.modelError || !splitBySearch())
            return std::nullopt;
        return listed(partitionsParameters(m_out.kind)
                ? "`param_shapes` of the optimizer files is one mapping; its groups follow from lengths alone"
                : "no file lists the param groups: they follow from the masters, which are the weights "
                  "before rounding");
    }

private:
    /// `param_shapes` of the releases 0.3.14 to 0.5.3.
    bool takeMapping()
    {
        for (const FileId file : m_out.optimFiles) {
            if (m_reading.content(file) == nullptr)
                continue;
            const PickleGraph& graph = m_reading.content(file)->pickle();
            const NodeId shapes = lookup(graph, graph.root(), "param_shapes");
            const auto items = mappingItems(graph, shapes);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const auto name = asString(graph, items[i]);
                auto shape = asShape(graph, items[i + 1]);
                const auto elements = shape ? elementCount(*shape) : std::nullopt;
                if (!name || !elements)
                    return false;
                m_candidates.push_back(
                    {*name, std::move(*shape), *elements, nullptr, parseExpertName(*name).has_value()});
            }
            return !m_candidates.empty();
        }
        return false;
    }

    /// Reads the model's tensors. They are candidates, or copies to compare with the masters.
    void takeCopies(bool mapped)
    {
        if (m_reading.content(m_out.templateModel) == nullptr)
            return;
        m_copies = listModuleTensors(m_reading);
        for (ModuleTensor& expert : firstFamilyExperts(m_reading, m_groups))
            m_copies.push_back(std::move(expert));
        if (!mapped) {
            for (const ModuleTensor& copy : m_copies) {
                if (isFloatingPoint(copy.dtype))
                    addCandidate(copy);
            }
            return;
        }
        std::unordered_map<std::string_view, const ModuleTensor*> byName;
        for (const ModuleTensor& copy : m_copies)
            byName.emplace(copy.name, &copy);
        for (Candidate& candidate : m_candidates) {
            const auto found = byName.find(candidate.name);
            if (found != byName.end() && found->second->shape == candidate.shape)
                candidate.copy = found->second;
        }
    }

    /// A fused tensor of AutoEP is known by its first expert, which comes first in the files. The rank's
    /// other experts have the same shape.
    void addCandidate(const ModuleTensor& copy)
    {
        const std::string_view fused = m_fused.fusedNameOf(copy.name);
        if (fused.empty()) {
            m_candidates.push_back(
                {copy.name, copy.shape, copy.elements, &copy, parseExpertName(copy.name).has_value()});
            return;
        }
        const uint32_t experts = m_fused.layerOf(fused)->localExperts;
        Shape shape = copy.shape;
        shape.insert(shape.begin(), experts);
        const auto elements = elementCount(shape);
        if (elements && copy.name.substr(fused.size()) == ".0")
            m_candidates.push_back({fused, std::move(shape), *elements, &copy, true});
    }

    [[nodiscard]] uint64_t weightOf(const Candidate& candidate) const
    {
        return partitionsParameters(m_out.kind) ? (candidate.elements + m_ranks - 1) / m_ranks
                                                : candidate.elements;
    }

    /// All candidates, one group after another (0.4.4 and later). True if the lengths allow exactly one way.
    bool splitInOrder()
    {
        if (m_groups.size() > kMaxGroups) // each group makes the search one step deeper
            return false;
        std::vector<size_t> ends(m_groups.size());
        size_t ways = 0;
        m_tries = 0;
        tryGroup(0, 0, ends, ways);
        return ways == 1;
    }

    void tryGroup(size_t group, size_t begin, std::vector<size_t>& ends, size_t& ways)
    {
        if (group == m_groups.size()) {
            if (begin == m_candidates.size() && ++ways == 1)
                m_ends = ends;
            return;
        }
        const uint64_t most = m_groups[group].exactElements();
        uint64_t filled = 0;
        for (size_t end = begin; end < m_candidates.size() && ways < 2 && ++m_tries < kMaxTries;) {
            const uint64_t weight = weightOf(m_candidates[end]);
            if (weight > most - filled || !fitsAt(m_candidates[end], m_groups[group], filled))
                return;
            filled += weight;
            ++end;
            if (m_groups[group].mayHold(filled)) {
                ends[group] = end;
                tryGroup(group + 1, end, ends, ways);
            }
        }
    }

    bool fitsAt(const Candidate& candidate, const NamelessGroup& group, uint64_t position)
    {
        return candidate.copy == nullptr || m_evidence.agrees(*candidate.copy, group, position);
    }

    /// Tries every choice of candidates that keeps their order in each group.
    bool splitBySearch()
    {
        std::vector<uint32_t> offered;
        GroupSearch search;
        for (uint32_t i = 0; i < m_candidates.size(); ++i) {
            if (m_candidates[i].elements == 0)
                continue;
            offered.push_back(i);
            search.weights.push_back(weightOf(m_candidates[i]));
        }
        for (const NamelessGroup& group : m_groups)
            search.sizes.push_back(group.exactElements());
        search.fits = [&](uint32_t candidate, uint32_t group, uint64_t position) {
            return mayBelongTo(m_candidates[offered[candidate]], m_groups[group])
                && fitsAt(m_candidates[offered[candidate]], m_groups[group], position);
        };
        const GroupSplit split = splitIntoGroups(search);
        if (split.outcome == GroupSplit::Outcome::None) {
            m_reading.noModel({ErrorCode::Damaged,
                "no choice of the model's parameters, in their order, makes up the optimizer's param groups, "
                "and no file lists those",
                m_out.tagFolder.string(), "the files may come from different runs"});
            return false;
        }
        if (split.outcome != GroupSplit::Outcome::One) {
            m_reading.refuse(m_reading.hasNoValues()
                    ? "no file lists its param groups, which only values identify, and a skeleton has none"
                    : "no file lists its param groups, and several choices of parameters fit them");
            return false;
        }
        m_members.resize(m_groups.size());
        for (uint32_t i = 0; i < offered.size(); ++i) {
            if (split.groupOf[i] >= 0)
                m_members[static_cast<size_t>(split.groupOf[i])].push_back(offered[i]);
        }
        return true;
    }

    /// Groups of fewer ranks hold experts. If there are such groups, those of all ranks hold no experts.
    [[nodiscard]] bool mayBelongTo(const Candidate& candidate, const NamelessGroup& group) const
    {
        return (group.perRank.size() < m_ranks) == candidate.expert || (!anyFamilies() && candidate.expert);
    }

    [[nodiscard]] bool anyFamilies() const
    {
        return std::any_of(m_groups.begin(), m_groups.end(),
            [&](const NamelessGroup& group) { return group.perRank.size() < m_ranks; });
    }

    std::optional<ShapeLists> listed(std::string evidence)
    {
        ShapeLists out(m_groups.size());
        size_t begin = 0;
        for (size_t g = 0; g < m_groups.size(); ++g) {
            if (m_members.empty()) {
                for (; begin < m_ends[g]; ++begin)
                    out[g].push_back({m_candidates[begin].name, m_candidates[begin].shape});
            } else {
                for (const uint32_t member : m_members[g])
                    out[g].push_back({m_candidates[member].name, m_candidates[member].shape});
            }
        }
        m_out.evidence.push_back(std::move(evidence));
        return out;
    }

    static constexpr size_t kMaxGroups = 4096;
    static constexpr size_t kMaxTries = 10'000'000;

    Reading& m_reading;
    Checkpoint& m_out;
    FusedExperts m_fused;
    ShardEvidence m_evidence{m_reading};
    uint32_t m_ranks = 1;
    std::vector<NamelessGroup> m_groups;
    std::vector<ModuleTensor> m_copies;
    std::vector<Candidate> m_candidates;
    std::vector<size_t> m_ends; ///< for consecutive groups
    std::vector<std::vector<uint32_t>> m_members; ///< for other groups: indices into m_candidates
    size_t m_tries = 0;
};

} // namespace

std::optional<ShapeLists> findParamShapes(Reading& reading)
{
    if (auto listed = readParamShapes(reading))
        return listed;
    const TorchFile* model = reading.content(reading.out.templateModel);
    if (model != nullptr) {
        const NodeId there = lookup(model->pickle(), reading.modelRoot, "param_shapes");
        if (there != kNoNode && model->pickle().kind(there) != NodeKind::None)
            return std::nullopt; // the list is malformed
    }
    for (const FileId file : reading.out.optimFiles) {
        if (reading.content(file) == nullptr)
            continue;
        const PickleGraph& graph = reading.content(file)->pickle();
        if (auto listed = readParamShapes(graph, graph.root())) {
            reading.out.evidence.emplace_back("the optimizer files list `param_shapes`, as before 0.6.0");
            return listed;
        }
        break;
    }
    if (isStage0OfStages(reading))
        return findMappedShapes(reading);
    return OldShapes(reading).find();
}

} // namespace shardscope
