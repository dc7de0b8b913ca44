// SPDX-License-Identifier: Apache-2.0
#include "ui/models/explorer_marks.h"

#include "ui/text/rank_list.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shardscope::ui {

/// Marks the lines that one finding after the other touches.
class ExplorerMarker
{
public:
    ExplorerMarker(const ExplorerTree& tree, ExplorerMarks& out)
        : m_tree(tree)
        , m_places(*out.m_places)
        , m_out(out.m_marks)
        , m_markedBy(tree.nodes().size(), 0)
        , m_passedBy(tree.nodes().size(), 0)
    {
        m_out.resize(tree.nodes().size());
        const uint32_t ranks = tree.find(ExplorerKind::Rank, 0);
        const uint32_t files = tree.find(ExplorerKind::File, 0);
        m_ranks = ranks == 0 ? Lines() : linesFrom(ranks);
        m_files = files == 0 ? Lines() : linesFrom(files);
        for (uint32_t line = 0; line < tree.nodes().size(); ++line) {
            if (tree.nodes()[line].kind == ExplorerKind::Unit)
                m_units.emplace(tree.nodes()[line].id, line);
            else if (tree.nodes()[line].kind == ExplorerKind::Group)
                m_groups.emplace(tree.nodes()[line].id, line);
        }
        const std::vector<Parameter>& params = m_places.checkpoint().params;
        for (uint32_t i = 0; i < params.size(); ++i) {
            if (params[i].sharedWith != kNoParam)
                m_tied.emplace(index(params[i].sharedWith), i);
        }
    }

    /// A stop leaves the rest out.
    void mark(uint32_t finding, const std::stop_token& token)
    {
        m_finding = finding;
        m_severity = m_places.findings()[finding].severity == Severity::Error ? int8_t{2} : int8_t{1};
        const TouchedPlaces& touched = m_places.touched(finding);
        m_places.forEachParam(
            finding, [&](ParamId param) { markParam(param); }, token);
        const auto markAll = [&](const auto& places, const auto& lineOfPlace) {
            constexpr size_t kBetweenLooks = 1024;
            for (size_t i = 0; i < places.size(); ++i) {
                if (i % kBetweenLooks == 0 && token.stop_requested())
                    return;
                markLine(lineOfPlace(places[i]));
            }
        };
        markAll(touched.ranks,
            [&](const RankCoordinate& rank) { return at(m_ranks, rankNumber(m_places.checkpoint(), rank)); });
        markAll(touched.files, [&](FileId file) { return at(m_files, index(file)); });
        markAll(touched.units, [&](UnitId unit) { return lineOf(unit); });
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

    /// A unit has no line of its own when its group has only one.
    [[nodiscard]] uint32_t lineOf(UnitId unit) const
    {
        if (const auto own = m_units.find(index(unit)); own != m_units.end())
            return own->second;
        const int32_t group = m_places.checkpoint().units[index(unit)].group;
        const auto line = m_groups.find(static_cast<uint32_t>(group));
        return group < 0 || line == m_groups.end() ? 0 : line->second;
    }

    /// With the names that are tied to it, which have no place of their own.
    void markParam(ParamId param)
    {
        markLine(m_tree.find(ExplorerKind::Param, index(param)));
        const auto [begin, end] = m_tied.equal_range(index(param));
        for (auto tied = begin; tied != end; ++tied)
            markLine(m_tree.find(ExplorerKind::Param, tied->second));
    }

    void markLine(uint32_t line)
    {
        if (line == 0 || std::exchange(m_markedBy[line], m_finding + 1) == m_finding + 1)
            return;
        ExplorerMarks::Mark& own = m_out[line];
        const auto& findings = m_places.findings();
        if (own.here++ == 0 || findings[m_finding].severity > findings[own.first].severity)
            own.first = m_finding;
        own.severity = std::max(own.severity, m_severity);
        for (uint32_t up = m_tree.nodes()[line].parent; up != 0; up = m_tree.nodes()[up].parent) {
            if (std::exchange(m_passedBy[up], m_finding + 1) == m_finding + 1)
                return; // and all above it
            ExplorerMarks::Mark& above = m_out[up];
            ++above.below;
            above.severity = std::max(above.severity, m_severity);
        }
    }

    const ExplorerTree& m_tree;
    const FindingPlaces& m_places;
    std::vector<ExplorerMarks::Mark>& m_out;
    std::vector<uint32_t> m_markedBy; ///< by node: the number of the finding before, and one
    std::vector<uint32_t> m_passedBy; ///< the same, of those above a marked one
    std::unordered_map<uint32_t, uint32_t> m_units; ///< lines
    std::unordered_map<uint32_t, uint32_t> m_groups;
    std::unordered_multimap<uint32_t, uint32_t> m_tied; ///< parameters, by their owner
    Lines m_ranks;
    Lines m_files;
    uint32_t m_finding = 0;
    int8_t m_severity = 1;
};

ExplorerMarksPtr ExplorerMarks::build(
    FindingPlacesPtr places, const ExplorerTree& tree, const std::stop_token& token)
{
    auto out = std::make_shared<ExplorerMarks>();
    out->m_places = std::move(places);
    ExplorerMarker marker(tree, *out);
    const std::vector<Finding>& findings = out->m_places->findings();
    for (uint32_t i = 0; i < findings.size() && !token.stop_requested(); ++i) {
        if (findings[i].severity != Severity::Info)
            marker.mark(i, token);
    }
    if (token.stop_requested())
        return nullptr;
    return out;
}

const ExplorerMarks::Mark* ExplorerMarks::of(uint32_t node) const
{
    return node < m_marks.size() && m_marks[node].severity >= 0 ? &m_marks[node] : nullptr;
}

} // namespace shardscope::ui
