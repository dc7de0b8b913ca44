// SPDX-License-Identifier: Apache-2.0
#include "ui/models/explorer_marks.h"

#include "core/layout/address.h"
#include "ui/text/rank_list.h"

#include <string_view>

namespace shardscope::ui {

namespace {

/// Finds the lines of findings.
class Places
{
public:
    Places(const Checkpoint& checkpoint, const ExplorerTree& tree)
        : m_checkpoint(checkpoint)
        , m_tree(tree)
    {
        for (uint32_t i = 0; i < checkpoint.files.size(); ++i)
            m_fileByName.emplace(checkpoint.files[i].name, i);
        const uint32_t ranks = lineOf(ExplorerKind::Rank, 0);
        const uint32_t files = lineOf(ExplorerKind::File, 0);
        m_ranks = ranks == 0 ? Lines() : linesFrom(ranks);
        m_files = files == 0 ? Lines() : linesFrom(files);
    }

    [[nodiscard]] std::vector<uint32_t> of(const Place& where) const
    {
        std::vector<uint32_t> out;
        const auto add = [&](uint32_t line) {
            if (line != 0)
                out.push_back(line);
        };
        if (const ParamAddress* param = where.param()) {
            if (const auto id = m_checkpoint.findParam(param->name))
                add(lineOf(ExplorerKind::Param, index(*id)));
        } else if (const FlatAddress* flat = where.flat()) {
            add(at(m_ranks, rankNumber(m_checkpoint, flat->rank)));
            add(lineOfUnit(*flat));
        } else if (const auto file = m_fileByName.find(where.file()); file != m_fileByName.end()) {
            add(at(m_files, file->second));
            const CheckpointFile& of = m_checkpoint.files[file->second];
            if (of.rank && of.role == FileRole::OptimStates)
                add(at(m_ranks, rankNumber(m_checkpoint, *of.rank)));
        }
        return out;
    }

private:
    /// The lines of a section that are numbered in its order.
    struct Lines {
        uint32_t first = 0;
        uint32_t count = 0;
    };
    [[nodiscard]] Lines linesFrom(uint32_t first) const
    {
        return {first, m_tree.nodes()[m_tree.nodes()[first].parent].childCount};
    }
    static uint32_t at(const Lines& lines, uint32_t number)
    {
        return number < lines.count ? lines.first + number : 0;
    }

    [[nodiscard]] uint32_t lineOf(ExplorerKind kind, uint32_t id) const { return m_tree.find(kind, id); }

    [[nodiscard]] uint32_t lineOfUnit(const FlatAddress& flat) const
    {
        for (uint32_t u = 0; u < m_checkpoint.units.size(); ++u) {
            const FlatUnit& unit = m_checkpoint.units[u];
            const bool isMeant = flat.subgroup
                ? unit.kind == UnitKind::SubGroup && unit.subgroup == flat.group
                : unit.kind == UnitKind::Group && unit.group == static_cast<int32_t>(flat.group);
            if (!isMeant || !m_checkpoint.shareOf(unit, flat.rank))
                continue;
            const uint32_t own = lineOf(ExplorerKind::Unit, u);
            return own != 0 || unit.group < 0
                ? own
                : lineOf(ExplorerKind::Group, static_cast<uint32_t>(unit.group));
        }
        return 0;
    }

    const Checkpoint& m_checkpoint;
    const ExplorerTree& m_tree;
    std::unordered_map<std::string_view, uint32_t> m_fileByName;
    Lines m_ranks;
    Lines m_files;
};

} // namespace

ExplorerMarksPtr ExplorerMarks::build(const Checkpoint& checkpoint, const ExplorerTree& tree,
    const std::vector<Finding>& findings, const std::stop_token& token)
{
    auto out = std::make_shared<ExplorerMarks>();
    const Places places(checkpoint, tree);
    for (const Finding& finding : findings) {
        if (token.stop_requested())
            return nullptr;
        if (finding.severity == Severity::Info)
            continue;
        const auto severity = static_cast<int8_t>(finding.severity == Severity::Error ? 2 : 1);
        for (const uint32_t line : places.of(finding.where)) {
            Mark& own = out->m_marks[line];
            ++own.here;
            if (own.first.empty() || own.severity < severity)
                own.first = finding.message;
            own.severity = std::max(own.severity, severity);
            for (uint32_t up = tree.nodes()[line].parent; up != 0; up = tree.nodes()[up].parent) {
                Mark& above = out->m_marks[up];
                ++above.below;
                above.severity = std::max(above.severity, severity);
            }
        }
    }
    return out;
}

const ExplorerMarks::Mark* ExplorerMarks::of(uint32_t node) const
{
    const auto found = m_marks.find(node);
    return found == m_marks.end() ? nullptr : &found->second;
}

} // namespace shardscope::ui
