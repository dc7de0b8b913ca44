// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/swap_table.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/swap/swap.h"

#include <algorithm>
#include <set>

namespace shardscope {

namespace {

constexpr size_t kMaxNamed = 8; ///< file names in one finding

/// `ds_id` of a tensor, or empty.
std::string idOf(const PickleGraph& graph, NodeId node)
{
    const auto tensor = asTensor(graph, node);
    if (!tensor || tensor->attributes == kNoNode)
        return {};
    return std::string(asString(graph, lookup(graph, tensor->attributes, "ds_id")).value_or(""));
}

/// Whether any flat state has an id. Nothing if there is no such state.
std::optional<bool> areMarked(const PickleGraph& graph, NodeId states)
{
    std::optional<bool> out;
    const auto items = mappingItems(graph, states);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto tensor = asTensor(graph, items[i + 1]);
        if (tensor && tensor->sizes.size() == 1)
            out = out.value_or(false) || !idOf(graph, items[i + 1]).empty();
    }
    return out;
}

bool isEmptyTensor(const PickleGraph& graph, NodeId node)
{
    const auto tensor = asTensor(graph, node);
    return tensor && tensor->sizes == Shape{0};
}

class SwapMapper
{
public:
    explicit SwapMapper(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_config(readSwapConfig(reading))
    {
    }

    SwapMap run()
    {
        collectSubjects();
        addLiveFolders();
        chooseFolders();
        if (m_reading.salvage) {
            if (!hasRanksOf(m_reading, m_chosen))
                return {};
            m_masterBytes = masterBytesOf(m_reading, m_chosen);
        }
        keepSwapped();
        if (m_subjects.empty()) {
            markLeftOver("the checkpoint has no states in swap files; an earlier save of its tag left them");
            if (m_reading.salvage)
                reportSalvaged(m_reading, m_map);
            return {};
        }
        for (uint32_t rank = 0; rank < m_reading.worldSize; ++rank)
            mapRank(rank);
        markLeftOver("the swap files belong to no sub-group of this checkpoint; earlier runs left them");
        describe();
        if (m_reading.salvage)
            reportSalvaged(m_reading, m_map);
        if (m_reading.depth == OpenDepth::Full) {
            checkSwapContents(m_reading, m_map, m_subjects);
            if (m_origin != SwapFolder::Origin::Checkpoint) {
                if (!m_reading.salvage) // a salvage already reports the other step
                    checkLiveSwap(m_reading, m_map, m_subjects);
                checkSwappedWeights(m_reading, m_map, m_subjects);
            }
        }
        return std::move(m_map);
    }

private:
    /// Collects every sub-group with elements, on every rank with a readable optimizer file.
    void collectSubjects()
    {
        for (uint32_t rank = 0; rank < m_reading.worldSize; ++rank) {
            const FileId file = m_out.optimFiles[rank];
            if (m_reading.content(file) == nullptr || m_out.file(file).status == FileStatus::Foreign)
                continue;
            m_read.insert(rank);
            const PickleGraph& graph = m_reading.content(file)->pickle();
            const NodeId wrapper = wrapperOf(graph);
            const auto masters = sequenceItems(graph, lookup(graph, wrapper, "fp32_flat_groups"));
            const NodeId states = lookup(graph, lookup(graph, wrapper, "optimizer_state_dict"), "state");
            for (const FlatUnit& unit : m_out.units) {
                if (unit.kind != UnitKind::SubGroup || unit.partition.partitionElements() == 0
                    || *unit.subgroup >= masters.size())
                    continue;
                SwapSubject subject;
                subject.subgroup = *unit.subgroup;
                subject.rank = rank;
                subject.unit = &unit;
                subject.file = file;
                subject.master = masters[*unit.subgroup];
                subject.state = lookup(graph, states, static_cast<int64_t>(*unit.subgroup));
                subject.empty = isEmptyTensor(graph, subject.master);
                subject.id = idOf(graph, subject.master);
                if (swapIdNumbers(subject.id).empty())
                    subject.id.clear(); // DeepSpeed gives no such ids
                if (!subject.id.empty())
                    subject.marked = areMarked(graph, subject.state);
                m_subjects.push_back(std::move(subject));
            }
        }
    }

    /// A folder that was not named and is only next to the tag is used if the checkpoint needs swap files and
    /// has none.
    void addLiveFolders()
    {
        const bool asked = addNamedSwapFolders(m_reading);
        const bool lacking = m_reading.swapFolders.empty()
            && std::any_of(m_subjects.begin(), m_subjects.end(),
                [&](const SwapSubject& subject) { return isSwapped(subject); });
        if (!asked && lacking)
            addSwapFolderNextToTag(m_reading);
    }

    /// A live folder that was named has priority over the checkpoint's own files. One that is only next to
    /// the checkpoint comes after them.
    void chooseFolders()
    {
        for (const auto origin :
            {SwapFolder::Origin::Named, SwapFolder::Origin::Checkpoint, SwapFolder::Origin::NextToTag}) {
            for (const SwapFolder& folder : m_reading.swapFolders) {
                if (folder.origin == origin)
                    m_chosen.push_back(&folder);
            }
            if (!m_chosen.empty()) {
                m_origin = origin;
                return;
            }
        }
    }

    [[nodiscard]] bool isSwapped(const SwapSubject& subject) const
    {
        if (subject.empty)
            return true;
        if (m_config.known && !m_config.nvme) // marks stay after loading in an engine that swaps nothing
            return m_reading.salvage && isSalvageable(m_masterBytes, subject, m_config.masterType);
        if (subject.marked)
            return *subject.marked;
        const uint64_t elements = subject.unit->partition.partitionElements();
        const bool large = elements
            >= (m_config.minBytes + itemSize(m_config.masterType) - 1) / itemSize(m_config.masterType);
        if (!large)
            return false;
        if (m_chosen.empty())
            return m_config.pipelined && !subject.id.empty(); // tensors of rewritten files have no ids
        return m_reading.salvage || m_origin == SwapFolder::Origin::Checkpoint || !subject.id.empty();
    }

    void keepSwapped()
    {
        std::erase_if(m_subjects, [&](const SwapSubject& subject) { return !isSwapped(subject); });
    }

    [[nodiscard]] const SwapFolder* folderOf(uint32_t rank) const
    {
        for (const SwapFolder* folder : m_chosen) {
            if (folder->rank == rank)
                return folder;
        }
        return nullptr;
    }

    void mapRank(uint32_t rank)
    {
        std::vector<SwapSubject*> subjects;
        for (SwapSubject& subject : m_subjects) {
            if (subject.rank == rank)
                subjects.push_back(&subject);
        }
        if (subjects.empty())
            return;
        const SwapFolder* folder = folderOf(rank);
        if (folder == nullptr) {
            for (const SwapSubject* subject : subjects)
                addNothing(*subject);
            return complainAboutFolder(rank, subjects.size());
        }
        const SwapIndex index = indexSwapFolder(m_reading, *folder);
        if (m_reading.salvage)
            matchByValues(m_reading, subjects, index, m_config.masterType);
        matchSwapIds(m_reading, subjects, index, m_config.masterType);
        for (const SwapSubject* subject : subjects)
            mapSubject(*subject, *folder, index);
    }

    /// The names of the swapped states, masters first.
    [[nodiscard]] std::vector<std::string> statesOf(const SwapSubject& subject) const
    {
        std::vector<std::string> out{"fp32"};
        const PickleGraph& graph = m_reading.content(subject.file)->pickle();
        const bool haveIds = !m_reading.salvage && !idOf(graph, subject.master).empty();
        const auto items = mappingItems(graph, subject.state);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            const auto tensor = asTensor(graph, items[i + 1]);
            if (!name || !tensor || tensor->sizes.size() != 1 || *name == "step")
                continue;
            const uint64_t elements = tensor->sizes[0];
            // A full state without an id, next to masters with one, is kept in memory. Muon's momentum may
            // be.
            const bool inMemory = haveIds && idOf(graph, items[i + 1]).empty();
            if (elements == 0 || (elements == subject.unit->partition.partitionElements() && !inMemory))
                out.emplace_back(*name);
        }
        return out;
    }

    void addNothing(const SwapSubject& subject)
    {
        SwapMap::States states;
        for (const std::string& name : statesOf(subject))
            states.push_back({name, m_config.masterType, {}});
        m_map.put(subject.subgroup, subject.rank, std::move(states));
    }

    void complainAboutFolder(uint32_t rank, size_t subgroups) const
    {
        const bool raced = std::any_of(m_chosen.begin(), m_chosen.end(),
            [](const SwapFolder* folder) { return !folder->rank.has_value(); });
        if (raced)
            return m_reading.add(code::kSwapMissing, Severity::Error,
                "the swap files of rank " + std::to_string(rank)
                    + " cannot be distinguished from those of other ranks: DeepSpeed before 0.18.0 copied "
                      "the files of all ranks into one folder, where they overwrite each other",
                RankCoordinate{rank, 0, 0},
                {"give the run's own swap folder with --root, if it still exists"});
        m_reading.add(code::kSwapMissing, Severity::Error,
            "there are no swap files for rank " + std::to_string(rank) + ", which kept "
                + std::to_string(subgroups) + (subgroups == 1 ? " sub-group" : " sub-groups") + " in them",
            RankCoordinate{rank, 0, 0},
            {m_chosen.empty()
                    ? "the tag has no folder `offloaded_tensors`; give the run's own swap folder with --root"
                    : "the swap folder has none for this rank"});
    }

    void mapSubject(const SwapSubject& subject, const SwapFolder& folder, const SwapIndex& index)
    {
        if (subject.id.empty())
            return addNothing(subject); // matchSwapIds() reported the reason
        const uint64_t elements = subject.unit->partition.partitionElements();
        const uint64_t bytes = elements * itemSize(m_config.masterType);
        SwapMap::States states;
        for (const std::string& name : statesOf(subject)) {
            SwappedState state{name, m_config.masterType, {}};
            const auto found = index.find({name, subject.id});
            if (found == index.end()) {
                addMissing(subject.rank, folder.name + "/" + swapFileName(name, subject.id));
                complainAboutFile(subject, name, folder.name + "/" + swapFileName(name, subject.id),
                    "the swap file is missing");
            } else {
                m_used.insert(found->second);
                const CheckpointFile& file = m_out.file(found->second);
                if (file.status != FileStatus::Ok)
                    complainAboutFile(subject, name, file.name, "the swap file cannot be read");
                else if (file.identity.bytes < bytes)
                    complainAboutFile(subject, name, file.name,
                        "the swap file is too short: it has " + formatCount(file.identity.bytes)
                            + " bytes of " + formatCount(bytes));
                else
                    state.run = {found->second, 0, 0, elements};
            }
            states.push_back(std::move(state));
        }
        m_map.put(subject.subgroup, subject.rank, std::move(states));
    }

    void addMissing(uint32_t rank, std::string name)
    {
        CheckpointFile file;
        file.path = m_out.tagFolder / name;
        file.name = std::move(name);
        file.role = FileRole::Swap;
        file.rank = RankCoordinate{rank, 0, 0};
        file.status = FileStatus::Missing;
        m_out.files.push_back(std::move(file));
    }

    void complainAboutFile(const SwapSubject& subject, const std::string& state, const std::string& file,
        const std::string& what) const
    {
        m_reading.add(code::kSwapMissing, Severity::Error,
            what + ": state `" + toValidUtf8(state) + "` of sub-group " + std::to_string(subject.subgroup)
                + " on rank " + std::to_string(subject.rank),
            placeOf(subject, toValidUtf8(state)), {toValidUtf8(file)});
    }

    /// Files of the chosen folders that nothing is mapped to, for ranks with an optimizer file that was read.
    void markLeftOver(const std::string& why)
    {
        for (const SwapFolder* folder : m_chosen) {
            if (folder->rank && *folder->rank < m_reading.worldSize && !m_read.contains(*folder->rank))
                continue;
            std::vector<std::string> names;
            size_t count = 0;
            for (const FileId id : folder->files) {
                CheckpointFile& file = m_out.files[index(id)];
                if (m_used.contains(id))
                    continue;
                if (file.status == FileStatus::Ok)
                    file.status = folder->rank ? FileStatus::Stale : FileStatus::Foreign;
                if (parseSwapFileName(file.path.filename().string())->gradient)
                    continue; // every run leaves those of its last step
                ++count;
                if (names.size() < kMaxNamed)
                    names.push_back(toValidUtf8(file.path.filename().string()));
            }
            if (count == 0 || !folder->rank)
                continue;
            if (count > names.size())
                names.push_back("and " + std::to_string(count - names.size()) + " more");
            m_reading.add(code::kStaleFile, Severity::Warning, why, folder->name, std::move(names));
        }
    }

    void describe() const
    {
        std::set<uint32_t> subgroups;
        bool byId = true;
        for (const SwapSubject& subject : m_subjects) {
            subgroups.insert(subject.subgroup);
            byId = byId && !idOf(m_reading.content(subject.file)->pickle(), subject.master).empty();
        }
        std::string text = std::to_string(subgroups.size())
            + (subgroups.size() == 1 ? " sub-group is" : " sub-groups are") + " in swap files of ";
        text
            += m_origin == SwapFolder::Origin::Checkpoint ? "`offloaded_tensors`" : "a run's own swap folder";
        m_out.evidence.push_back(text
            + (byId ? ", found by the `ds_id` of the optimizer files' tensors"
                    : m_reading.salvage
                    ? ", found by ids, masters like the donor's, or sizes and the order of ids"
                    : ", found by the sizes and the order of their ids"));
    }

    Reading& m_reading;
    Checkpoint& m_out;
    SwapConfig m_config;
    std::vector<SwapSubject> m_subjects;
    std::vector<const SwapFolder*> m_chosen;
    MasterBytes m_masterBytes; ///< filled if needed
    SwapFolder::Origin m_origin = SwapFolder::Origin::Checkpoint;
    std::set<FileId> m_used;
    std::set<uint32_t> m_read; ///< ranks
    SwapMap m_map;
};

} // namespace

FlatAddress placeOf(const SwapSubject& subject, std::string state)
{
    FlatAddress out{{subject.rank, 0, 0}, true, subject.subgroup, 0, std::move(state)};
    const uint64_t elements = subject.unit == nullptr ? 0 : subject.unit->partition.partitionElements();
    if (elements > 1)
        out.end = elements;
    return out;
}

const SwapMap::States* SwapMap::find(uint32_t subgroup, uint32_t rank) const
{
    const auto found = m_states.find({subgroup, rank});
    return found == m_states.end() ? nullptr : &found->second;
}

void SwapMap::put(uint32_t subgroup, uint32_t rank, States states)
{
    m_states[{subgroup, rank}] = std::move(states);
}

SwapIndex indexSwapFolder(const Reading& reading, const SwapFolder& folder)
{
    SwapIndex out;
    for (const FileId id : folder.files) {
        const std::string& name = reading.out.file(id).name;
        const auto parsed = parseSwapFileName(std::string_view(name).substr(folder.name.size() + 1));
        if (parsed && !parsed->gradient)
            out.emplace(std::pair(std::string(parsed->state), std::string(parsed->id)), id);
    }
    return out;
}

SwapMap mapSwapFiles(Reading& reading)
{
    if (reading.content(reading.out.templateModel) == nullptr)
        return {};
    return SwapMapper(reading).run();
}

} // namespace shardscope
