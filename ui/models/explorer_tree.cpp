// SPDX-License-Identifier: Apache-2.0
#include "ui/models/explorer_tree.h"

#include "core/layout/lost_shares.h"
#include "ui/text/rank_list.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope::ui {

/// Makes nodes in the order of the names, parents first, then lays siblings next to each other.
class ExplorerTreeBuilder
{
public:
    explicit ExplorerTreeBuilder(CheckpointPtr checkpoint)
        : m_keeper(std::move(checkpoint))
        , m_checkpoint(*m_keeper)
        , m_lost(m_checkpoint)
    {
        add(0, ExplorerKind::Section, 0, {});
    }

    std::shared_ptr<const ExplorerTree> build(const std::stop_token& token)
    {
        if (token.stop_requested())
            return nullptr;
        addModules(token);
        if (token.stop_requested())
            return nullptr;
        addRanks();
        addFiles();
        addGroups();
        return arranged();
    }

private:
    struct ChildKey {
        uint32_t parent;
        std::string_view label;
        bool operator==(const ChildKey&) const = default;
    };
    struct ChildHash {
        size_t operator()(const ChildKey& key) const
        {
            return std::hash<std::string_view>()(key.label) * 31 + key.parent;
        }
    };
    struct Step {
        std::string_view label;
        uint32_t node;
    };

    uint32_t add(uint32_t parent, ExplorerKind kind, uint32_t id, std::string_view label)
    {
        const auto made = static_cast<uint32_t>(m_nodes.size());
        ExplorerNode& node = m_nodes.emplace_back();
        node.kind = kind;
        node.id = id;
        node.parent = parent;
        node.label = label;
        if (made != 0)
            node.row = m_nodes[parent].childCount++;
        return made;
    }

    static void addSizes(const ExplorerNode& node, ExplorerNode& above)
    {
        above.bytes += node.bytes;
        above.lostBytes += node.lostBytes;
    }

    void addModules(const std::stop_token& token)
    {
        const uint32_t section = add(0, ExplorerKind::Section, 0, {});
        m_paramNodes.resize(m_checkpoint.params.size());
        const std::vector<uint64_t> bytes = bytesByParam();
        for (size_t i = 0; i < m_checkpoint.params.size(); ++i) {
            if (i % 4096 == 0 && token.stop_requested())
                return;
            const std::string_view name = m_checkpoint.params[i].name;
            size_t begin = 0;
            const uint32_t parent = moduleOf(section, name, begin);
            const uint32_t node
                = add(parent, ExplorerKind::Param, static_cast<uint32_t>(i), name.substr(begin));
            m_nodes[node].lostBytes = m_lost.bytesOf(ParamId{static_cast<uint32_t>(i)});
            m_nodes[node].bytes = bytes[i] - m_nodes[node].lostBytes;
            m_paramNodes[i] = node;
        }
        // Parents come before their children, so one pass from the end adds everything up.
        for (size_t i = m_nodes.size(); i-- > section + size_t{1};) {
            const ExplorerNode& node = m_nodes[i];
            ExplorerNode& parent = m_nodes[node.parent];
            addSizes(node, parent);
            parent.params += node.kind == ExplorerKind::Param ? 1 : node.params;
        }
        foldLayers(section);
    }

    /// What a module is built of, whatever its own name: equal numbers for equal names, shapes and roles
    /// below it, in any order.
    std::vector<uint64_t> shapesOf(uint32_t section) const
    {
        std::vector<uint64_t> shapes(m_nodes.size(), 0);
        const std::hash<std::string_view> hash;
        const auto mix = [](uint64_t value, uint64_t more) {
            value = (value ^ more) * 0x9E3779B97F4A7C15ULL;
            return value ^ value >> 29;
        };
        for (size_t i = m_nodes.size(); i-- > section + size_t{1};) {
            const ExplorerNode& node = m_nodes[i];
            if (node.kind == ExplorerKind::Param) {
                const Parameter& param = m_checkpoint.params[node.id];
                shapes[i] = mix(static_cast<uint64_t>(param.role) + 1, node.bytes + node.lostBytes);
                for (const uint64_t size : param.shape)
                    shapes[i] = mix(shapes[i], size);
            }
            shapes[node.parent] += mix(shapes[i], hash(node.label));
        }
        return shapes;
    }

    static bool isNumber(std::string_view label)
    {
        return !label.empty() && label.size() < 10
            && label.find_first_not_of("0123456789") == std::string_view::npos;
    }

    /// Puts numbered modules that are built alike under one node; those that are not stay where they are.
    void foldLayers(uint32_t section)
    {
        const std::vector<uint64_t> shapes = shapesOf(section);
        const auto made = static_cast<uint32_t>(m_nodes.size());
        std::unordered_map<uint64_t, std::vector<uint32_t>> alike; // by parent and shape
        std::vector<std::vector<uint32_t>> children(made);
        for (uint32_t i = section + 1; i < made; ++i) {
            children[m_nodes[i].parent].push_back(i);
            if (m_nodes[i].kind == ExplorerKind::Module && isNumber(m_nodes[i].label))
                alike[shapes[i] ^ uint64_t{m_nodes[i].parent} * 0xC2B2AE3D27D4EB4FULL].push_back(i);
        }
        std::vector<uint32_t> foldOf(made, 0);
        for (const auto& [key, members] : alike) {
            const uint32_t parent = m_nodes[members.front()].parent;
            if (members.size() < kFewestFolded)
                continue;
            const auto fold = static_cast<uint32_t>(m_nodes.size());
            ExplorerNode& node = m_nodes.emplace_back();
            node.kind = ExplorerKind::Fold;
            node.id = static_cast<uint32_t>(m_folds.size());
            node.parent = parent;
            m_folds.push_back({numbersOf(members), members.size()});
            for (const uint32_t member : members)
                foldOf[member] = fold;
        }
        for (uint32_t parent = section; !m_folds.empty() && parent < made; ++parent)
            putUnderFolds(parent, children[parent], foldOf);
    }

    void putUnderFolds(
        uint32_t parent, const std::vector<uint32_t>& children, const std::vector<uint32_t>& foldOf)
    {
        m_nodes[parent].childCount = 0;
        for (const uint32_t child : children) {
            const uint32_t fold = foldOf[child];
            if (fold == 0) {
                m_nodes[child].row = m_nodes[parent].childCount++;
                continue;
            }
            ExplorerNode& node = m_nodes[fold];
            if (node.childCount == 0) // where its first member was
                node.row = m_nodes[parent].childCount++;
            m_nodes[child].parent = fold;
            m_nodes[child].row = node.childCount++;
            addSizes(m_nodes[child], node);
            node.params += m_nodes[child].params;
        }
    }

    /// "{0–11, 13–31}".
    std::string numbersOf(const std::vector<uint32_t>& members) const
    {
        std::vector<unsigned long> numbers;
        numbers.reserve(members.size());
        for (const uint32_t member : members)
            numbers.push_back(std::stoul(std::string(m_nodes[member].label)));
        std::sort(numbers.begin(), numbers.end());
        std::string text = "{";
        constexpr size_t kMostRanges = 4;
        size_t ranges = 0;
        for (size_t begin = 0; begin < numbers.size(); ++ranges) {
            size_t end = begin + 1;
            while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
                ++end;
            if (ranges == kMostRanges)
                return text + ", …}";
            text += (begin == 0 ? "" : ", ") + std::to_string(numbers[begin]);
            if (end - begin > 1)
                text += (end - begin > 2 ? "–" : ", ") + std::to_string(numbers[end - 1]);
            begin = end;
        }
        return text + "}";
    }

    /// The module of a name; `begin` is moved to its last component. Neighbours share most of their
    /// path, so the path of the name before is tried first.
    uint32_t moduleOf(uint32_t section, std::string_view name, size_t& begin)
    {
        uint32_t parent = section;
        size_t depth = 0;
        for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', begin)) {
            // A malicious name can have thousands of dots: the rest stays one label.
            if (depth >= kDeepest)
                break;
            const std::string_view label = name.substr(begin, dot - begin);
            if (depth < m_path.size() && m_path[depth].label == label) {
                parent = m_path[depth].node;
            } else {
                m_path.resize(depth);
                const auto [entry, added] = m_modules.try_emplace(ChildKey{parent, label}, 0);
                if (added)
                    entry->second = add(parent, ExplorerKind::Module, 0, label);
                parent = entry->second;
                m_path.push_back({label, parent});
            }
            ++depth;
            begin = dot + 1;
        }
        m_path.resize(depth);
        return parent;
    }

    std::vector<uint64_t> bytesByParam() const
    {
        std::vector<uint64_t> bytes(m_checkpoint.params.size());
        for (const FlatUnit& unit : m_checkpoint.units) {
            uint64_t item = 0;
            for (const UnitState& state : unit.states)
                item += itemSize(state.dtype);
            for (const ParamId param : unit.params)
                bytes[index(param)] += item * m_checkpoint.params[index(param)].elements;
        }
        for (const WholeTensor& whole : m_checkpoint.whole)
            if (whole.param != kNoParam && m_checkpoint.params[index(whole.param)].sharedWith == kNoParam)
                bytes[index(whole.param)]
                    += itemSize(whole.dtype) * m_checkpoint.params[index(whole.param)].elements;
        return bytes;
    }

    static int8_t severityOf(FileStatus status)
    {
        switch (status) {
        case FileStatus::Ok:
            return -1;
        case FileStatus::Missing:
        case FileStatus::Damaged:
            return 2;
        case FileStatus::Stale:
        case FileStatus::Foreign:
            return 1;
        case FileStatus::NotYetRead:
            break;
        }
        return 0;
    }

    /// A rank's files are those that the list of files gives it. With those of no rank they are all files.
    void addRanks()
    {
        const uint32_t section = add(0, ExplorerKind::Section, 1, {});
        const uint32_t ranks = countRanks();
        for (uint32_t rank = 0; rank < ranks; ++rank)
            addMissingFiles(add(section, ExplorerKind::Rank, rank, {}), rank);
        const uint32_t first = section + 1;
        uint32_t others = 0;
        for (const CheckpointFile& file : m_checkpoint.files) {
            if (!countsAsFile(file))
                continue;
            const uint32_t rank = rankOfFile(m_checkpoint, file).value_or(ranks);
            if (rank >= ranks && others == 0)
                others = add(section, ExplorerKind::NoRank, 0, {});
            ExplorerNode& node = m_nodes[rank < ranks ? first + rank : others];
            node.bytes += file.identity.bytes;
            node.severity = std::max(node.severity, severityOf(file.status));
            m_nodes[section].bytes += file.identity.bytes;
        }
    }

    /// A missing file has no bytes, and is a fault of its rank.
    static bool countsAsFile(const CheckpointFile& file) { return file.status != FileStatus::Foreign; }

    /// None if no file belongs to a rank, as in a universal folder, a distributed checkpoint or a file of
    /// weights.
    uint32_t countRanks() const
    {
        const bool anyOfRank = std::any_of(m_checkpoint.files.begin(), m_checkpoint.files.end(),
            [this](const CheckpointFile& file) { return rankOfFile(m_checkpoint, file).has_value(); });
        if (!anyOfRank)
            return 0;
        if (!m_checkpoint.parts.empty())
            return rankCount(m_checkpoint);
        uint32_t ranks = static_cast<uint32_t>(std::max<size_t>(m_checkpoint.optimFiles.size(),
            m_checkpoint.units.empty() ? 0 : m_checkpoint.units.front().partition.ranks()));
        for (const CheckpointFile& file : m_checkpoint.files) {
            if (file.rank)
                ranks = std::max(ranks, file.rank->dp + 1);
        }
        return ranks;
    }

    /// Of those that every rank has.
    void addMissingFiles(uint32_t node, uint32_t rank)
    {
        const Checkpoint& part = partOfRank(m_checkpoint, rank);
        const uint32_t dp = rankAt(m_checkpoint, rank).dp;
        for (const auto* list : {&part.optimFiles, &part.modelFiles}) {
            const bool isShared = list == &part.modelFiles && list->size() == 1 && dp > 0;
            if (dp < list->size() && !isShared && (*list)[dp] == kNoFile)
                m_nodes[node].severity = 2;
        }
    }

    void addFiles()
    {
        const uint32_t section = add(0, ExplorerKind::Section, 2, {});
        for (size_t i = 0; i < m_checkpoint.files.size(); ++i) {
            const CheckpointFile& file = m_checkpoint.files[i];
            const uint32_t node = add(section, ExplorerKind::File, static_cast<uint32_t>(i), file.name);
            m_nodes[node].bytes = file.identity.bytes;
            m_nodes[node].severity = severityOf(file.status);
            if (countsAsFile(file))
                m_nodes[section].bytes += file.identity.bytes;
        }
    }

    void addGroups()
    {
        const uint32_t section = add(0, ExplorerKind::Section, 3, {});
        for (const ParamGroup& group : m_checkpoint.groups) {
            const uint32_t node = add(section, ExplorerKind::Group, group.index, {});
            m_nodes[node].params = static_cast<uint32_t>(group.parameters);
            for (const UnitId id : group.units) {
                const FlatUnit& unit = m_checkpoint.units[index(id)];
                ExplorerNode held;
                for (size_t state = 0; state < unit.states.size(); ++state) {
                    held.bytes += itemSize(unit.states[state].dtype) * unit.partition.payloadElements();
                    held.lostBytes += m_lost.bytesOf(id, state);
                }
                held.bytes -= held.lostBytes;
                addSizes(held, m_nodes[node]);
                if (group.units.size() > 1) {
                    const uint32_t child = add(node, ExplorerKind::Unit, index(id), {});
                    addSizes(held, m_nodes[child]);
                    m_nodes[child].params = static_cast<uint32_t>(unit.params.size());
                }
            }
            addSizes(m_nodes[node], m_nodes[section]);
        }
    }

    std::shared_ptr<const ExplorerTree> arranged()
    {
        uint32_t next = 1;
        for (ExplorerNode& node : m_nodes) {
            node.firstChild = next;
            next += node.childCount;
        }
        std::vector<uint32_t> placeOf(m_nodes.size(), 0);
        for (size_t i = 1; i < m_nodes.size(); ++i)
            placeOf[i] = m_nodes[m_nodes[i].parent].firstChild + m_nodes[i].row;
        auto tree = std::make_shared<ExplorerTree>();
        tree->m_checkpoint = m_keeper;
        tree->m_nodes.resize(m_nodes.size());
        for (size_t i = 0; i < m_nodes.size(); ++i) {
            tree->m_nodes[placeOf[i]] = m_nodes[i];
            tree->m_nodes[placeOf[i]].parent = placeOf[m_nodes[i].parent];
        }
        for (uint32_t& node : m_paramNodes)
            node = placeOf[node];
        tree->m_paramNodes = std::move(m_paramNodes);
        tree->m_folds = std::move(m_folds);
        return tree;
    }

    static constexpr size_t kDeepest = 32;
    static constexpr size_t kFewestFolded = 4;

    CheckpointPtr m_keeper;
    const Checkpoint& m_checkpoint;
    LostShares m_lost;
    std::vector<ExplorerNode> m_nodes; ///< in order of making
    std::vector<uint32_t> m_paramNodes;
    std::vector<ExplorerTree::Fold> m_folds;
    std::vector<Step> m_path;
    std::unordered_map<ChildKey, uint32_t, ChildHash> m_modules;
};

std::shared_ptr<const ExplorerTree> ExplorerTree::build(
    CheckpointPtr checkpoint, const std::stop_token& token)
{
    return ExplorerTreeBuilder(std::move(checkpoint)).build(token);
}

uint32_t ExplorerTree::find(ExplorerKind kind, uint32_t id) const
{
    if (kind == ExplorerKind::Param)
        return id < m_paramNodes.size() ? m_paramNodes[id] : 0;
    if (m_nodes.empty())
        return 0;
    const uint32_t sectionRow = kind == ExplorerKind::Rank ? 1 : kind == ExplorerKind::File ? 2 : 3;
    const ExplorerNode& section = m_nodes[m_nodes[0].firstChild + sectionRow];
    for (uint32_t i = 0; i < section.childCount; ++i) {
        const uint32_t at = section.firstChild + i;
        if (m_nodes[at].kind == kind && m_nodes[at].id == id)
            return at;
        for (uint32_t child = 0; kind == ExplorerKind::Unit && child < m_nodes[at].childCount; ++child)
            if (m_nodes[m_nodes[at].firstChild + child].id == id)
                return m_nodes[at].firstChild + child;
    }
    return 0;
}

std::string ExplorerTree::fullName(uint32_t node) const
{
    std::string name;
    for (uint32_t at = node; at != 0 && m_nodes[at].kind != ExplorerKind::Section; at = m_nodes[at].parent) {
        // A fold is no part of the names below it.
        if (m_nodes[at].kind == ExplorerKind::Fold && at != node)
            continue;
        const std::string label = m_nodes[at].kind == ExplorerKind::Fold ? m_folds[m_nodes[at].id].numbers
                                                                         : std::string(m_nodes[at].label);
        name = at == node ? label : label + '.' + name;
    }
    return name;
}

std::string ExplorerTree::foldLabel(uint32_t fold) const
{
    return m_folds[fold].numbers + " × " + std::to_string(m_folds[fold].count);
}

} // namespace shardscope::ui
