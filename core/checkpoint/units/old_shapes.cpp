// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/old_shapes.h"

#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/units/expert_families.h"
#include "core/checkpoint/units/group_search.h"
#include "core/checkpoint/units/mapped_shapes.h"
#include "core/checkpoint/units/model_ranks.h"
#include "core/checkpoint/units/nameless_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace shardscope {

namespace {

/// The tensors in expert files that belong to the first expert-parallel rank. The order is that of a model:
/// by layer, number, and place in the file. Loads those files. Empty if there are none.
std::vector<ModuleTensor> firstFamilyExperts(Reading& reading, const std::vector<NamelessGroup>& groups)
{
    std::vector<ModuleTensor> out;
    if (!holdsExperts(reading))
        return out;
    size_t families = 1;
    for (const NamelessGroup& group : groups) {
        if (!group.perRank.empty())
            families = std::max(families, reading.worldSize / group.perRank.size());
    }
    std::map<uint32_t, std::map<uint32_t, FileId>> layers;
    for (uint32_t i = 0; i < reading.out.files.size(); ++i) {
        const auto parsed = parseCheckpointFileName(reading.out.files[i].name);
        if (parsed && parsed->role == FileRole::ExpertStates && parsed->mp == reading.out.modelRank
            && parsed->layer && parsed->expert)
            layers[*parsed->layer].emplace(*parsed->expert, FileId{i});
    }
    std::vector<FileId> files;
    for (const auto& [layer, experts] : layers) {
        const auto local = static_cast<uint32_t>(experts.size() / families);
        for (const auto& [number, file] : experts) {
            if (number < local)
                files.push_back(file);
        }
    }
    if (!loadFiles(reading, files))
        return out;
    for (const FileId id : files) {
        const TorchFile* file = reading.content(id);
        if (file == nullptr)
            continue;
        const PickleGraph& graph = file->pickle();
        const auto items = mappingItems(graph, graph.root());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            const auto tensor = asTensor(graph, items[i + 1]);
            const auto extent = name && tensor ? file->extentOf(*tensor)
                                               : Result<TensorExtent>(fail(ErrorCode::Damaged, "no tensor"));
            if (!extent || !tensor->elements())
                continue;
            out.push_back({*name, tensor->sizes, *tensor->elements(), tensor->dtype,
                {id, extent->record, extent->byteOffset, *tensor->elements()}, tensor->isContiguous()});
        }
    }
    return out;
}

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

    Result<ShapeLists> find()
    {
        const auto loaded = loadFiles(m_reading, m_out.optimFiles);
        m_groups = loaded ? readNamelessGroups(m_reading) : std::vector<NamelessGroup>();
        if (m_groups.empty())
            return fail(ErrorCode::Damaged, "no optimizer file of this checkpoint records its param groups",
                m_out.tagFolder.string());
        m_ranks = m_reading.worldSize;
        const bool mapped = takeMapping();
        if (!mapped && partitionsParameters(m_out.kind))
            return fail(ErrorCode::Unsupported,
                "no file lists the shapes of its parameters, as ZeRO-3 before 0.3.14 does not");
        if (!partitionsParameters(m_out.kind))
            takeCopies(mapped);
        if (mapped && splitInOrder())
            return listed(
                "`param_shapes` of the optimizer files is one mapping; its groups follow from lengths");
        SHARDSCOPE_CHECK(splitBySearch());
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
    Status splitBySearch()
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
        if (split.outcome == GroupSplit::Outcome::None)
            return fail(ErrorCode::Damaged,
                "no choice of the model's parameters, in their order, makes up the optimizer's param groups, "
                "and no file lists those",
                m_out.tagFolder.string(), "the files may come from different runs");
        if (split.outcome != GroupSplit::Outcome::One)
            return fail(ErrorCode::Unsupported,
                m_reading.hasNoValues()
                    ? "no file lists its param groups, which only values identify, and a skeleton has none"
                    : "no file lists its param groups, and several choices of parameters fit them");
        m_members.resize(m_groups.size());
        for (uint32_t i = 0; i < offered.size(); ++i) {
            if (split.groupOf[i] >= 0)
                m_members[static_cast<size_t>(split.groupOf[i])].push_back(offered[i]);
        }
        return {};
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

    ShapeLists listed(std::string evidence)
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

/// The list is malformed, or nowhere.
tl::unexpected<Error> noShapes(const Checkpoint& checkpoint)
{
    if (partitionsParameters(checkpoint.kind))
        return fail(ErrorCode::Damaged, "no file has a usable `param_shapes`, so no parameter can be placed",
            checkpoint.tagFolder.string(),
            "copy a complete *_model_states.pt file of the same run into the folder");
    return fail(ErrorCode::Damaged,
        "the model file has no usable `param_shapes`, so no parameter can be placed",
        checkpoint.file(checkpoint.modelFiles.front()).path.string(),
        "check that mp_rank_00_model_states.pt exists and is complete");
}

} // namespace

Result<ShapeLists> findParamShapes(Reading& reading)
{
    if (auto listed = readParamShapes(reading))
        return std::move(*listed);
    const TorchFile* model = reading.content(reading.out.templateModel);
    if (model != nullptr) {
        const NodeId there = lookup(model->pickle(), reading.modelRoot, "param_shapes");
        if (there != kNoNode && model->pickle().kind(there) != NodeKind::None)
            return noShapes(reading.out);
    }
    for (const FileId file : reading.out.optimFiles) {
        if (reading.content(file) == nullptr)
            continue;
        const PickleGraph& graph = reading.content(file)->pickle();
        if (auto listed = readParamShapes(graph, graph.root())) {
            reading.out.evidence.emplace_back("the optimizer files list `param_shapes`, as before 0.6.0");
            return std::move(*listed);
        }
        break;
    }
    if (isStage0OfStages(reading))
        return findMappedShapes(reading);
    return OldShapes(reading).find();
}

} // namespace shardscope
