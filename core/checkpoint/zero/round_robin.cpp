// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/round_robin.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/param_order.h"
#include "core/partition/round_robin.h"

#include <algorithm>

namespace shardscope {

namespace {

/// Which order of the parameters is the model's own. Optimizers usually get the parameters in that order.
enum class ListOrder { Unclear, AsListed, Reordered };

/// The position of each parameter in `module`. kNowhere for parameters that are not in it.
constexpr uint32_t kNowhere = 0xFFFFFFFFu;
std::vector<uint32_t> modulePlaces(const Reading& reading)
{
    std::vector<uint32_t> places(reading.out.params.size(), kNowhere);
    const PickleGraph& graph = reading.content(reading.out.templateModel)->pickle();
    const auto items = mappingItems(graph, lookup(graph, reading.modelRoot, "module"));
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        const auto id = name ? reading.out.findParam(*name) : std::nullopt;
        if (id)
            places[index(*id)] = static_cast<uint32_t>(i / 2);
    }
    return places;
}

ListOrder listOrderOf(const Reading& reading)
{
    const std::vector<uint32_t> inModule = modulePlaces(reading);
    size_t asListed = 0;
    size_t reordered = 0;
    for (const FlatUnit& unit : reading.out.units) {
        const auto count = static_cast<uint32_t>(unit.params.size());
        const std::vector<uint32_t> order = roundRobinOrder(count, unit.partition.ranks());
        std::vector<uint32_t> listed(count);
        std::vector<uint32_t> before(count);
        for (uint32_t i = 0; i < count; ++i) {
            listed[i] = inModule[index(unit.params[i])];
            before[order[i]] = listed[i];
        }
        if (listed == before)
            continue;
        const bool listedIsSorted = std::is_sorted(listed.begin(), listed.end());
        const bool beforeIsSorted = std::is_sorted(before.begin(), before.end());
        if (listedIsSorted == beforeIsSorted)
            return ListOrder::Unclear;
        ++(listedIsSorted ? asListed : reordered);
    }
    if (asListed > 0 && reordered == 0)
        return ListOrder::AsListed;
    return reordered > 0 && asListed == 0 ? ListOrder::Reordered : ListOrder::Unclear;
}

} // namespace

void decideRoundRobin(Reading& reading, bool mappingsShowIt)
{
    Checkpoint& out = reading.out;
    if (hasBf16Optimizer(out.kind)) // engine.py passes the option only to stages 1 and 2
        return;
    const ModelStates model = modelStates(reading);
    const bool configured = model.configFlag({"zero_optimization", "round_robin_gradients"});
    // Before 0.18.6 this is a path if the configuration was given as one.
    const bool configKnown = model.configValue({"zero_optimization"}) != kNoNode;
    const bool matters = roundRobinMatters(out);
    const bool askNames = matters && !mappingsShowIt && (configured || !configKnown);
    const ListOrder listOrder = askNames ? listOrderOf(reading) : ListOrder::Unclear;
    const std::string where = out.file(out.templateModel).name;
    // The saving engine ran with this configuration, so it is used. But a plan must not rely on it unless
    // asked to.
    const bool contradicted = configured && listOrder == ListOrder::AsListed;
    if (contradicted)
        reading.add(code::kParamOrder, Severity::Error,
            "ds_config has round_robin_gradients on, but the parameters are in the order without it", where,
            {"`param_shapes` lists them in the order of `module`",
                "a loader with round_robin_gradients on would give parameters the values of others"});
    out.roundRobin = configured || mappingsShowIt || listOrder == ListOrder::Reordered;
    if (mappingsShowIt && configKnown && !configured)
        reading.add(code::kParamOrder, Severity::Warning,
            "ds_config does not have round_robin_gradients on, but the parameters are in its order", where,
            {"the places that `param_slice_mappings` records are those before it",
                "the resumed run must have it on"});
    if (out.roundRobin && matters && !contradicted)
        out.evidence.push_back("parameters are in the order of round_robin_gradients for "
            + std::to_string(reading.worldSize) + " ranks");
}

namespace {

enum class Match { NothingRecorded, Fits, Differs };

class SliceMappings
{
public:
    explicit SliceMappings(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
        , m_expected(listedOrder(reading.out))
    {
        for (uint32_t rank = 0; rank < reading.worldSize; ++rank) {
            const FileId file = m_out.optimFiles[rank];
            if (reading.content(file) != nullptr && m_out.file(file).status != FileStatus::Foreign)
                m_usable.emplace_back(rank, file);
        }
    }

    Result<bool> check()
    {
        std::vector<FileId> misfits = misfitsOf(m_expected);
        bool overlooked = false;
        if (!misfits.empty() && !hasBf16Optimizer(m_out.kind)) {
            auto stock = stockMappingOrder(m_out);
            overlooked = stock && explains(*stock);
            if (overlooked) {
                m_expected = std::move(*stock);
                misfits = misfitsOf(m_expected);
            }
        }
        for (const FileId file : misfits) {
            const std::optional<uint32_t> owner = ownerOf(file);
            if (!owner && misfits.size() == m_usable.size())
                return fail(ErrorCode::Damaged,
                    "the optimizer file records places of its parameters that the shapes of the model file "
                    "do not give, in no order that DeepSpeed has",
                    m_out.file(file).path.string(),
                    "model file and optimizer files may come from different runs");
            m_out.files[index(file)].status = FileStatus::Foreign;
            m_reading.add(code::kRankForeign, Severity::Error,
                "the file records other places of its parameters than its rank has", m_out.file(file).name,
                {owner ? "they are those of rank " + std::to_string(*owner)
                       : "they are those of no rank of this checkpoint"});
        }
        return overlooked;
    }

private:
    std::vector<FileId> misfitsOf(const ParamOrder& order)
    {
        std::vector<FileId> out;
        for (const auto& [rank, file] : m_usable) {
            if (compare(order, file, rank) == Match::Differs)
                out.push_back(file);
        }
        return out;
    }

    /// Whether only this order explains some files, and no file is explained only by the listed order.
    bool explains(const ParamOrder& order)
    {
        bool explained = false;
        for (const auto& [rank, file] : m_usable) {
            const bool listed = compare(m_expected, file, rank) == Match::Fits;
            const bool other = compare(order, file, rank) == Match::Fits;
            if (listed && !other)
                return false;
            explained = explained || (other && !listed);
        }
        return explained;
    }

    /// The rank that the file's recorded places belong to.
    std::optional<uint32_t> ownerOf(FileId file)
    {
        for (uint32_t rank = 0; rank < m_reading.worldSize; ++rank) {
            if (compare(m_expected, file, rank) == Match::Fits)
                return rank;
        }
        return std::nullopt;
    }

    Match compare(const ParamOrder& order, FileId file, uint32_t rank)
    {
        const PickleGraph& graph = m_reading.content(file)->pickle();
        const NodeId wrapper = wrapperOf(graph);
        const auto mappings = sequenceItems(graph, lookup(graph, wrapper, "param_slice_mappings"));
        Match match = Match::NothingRecorded;
        const auto units = m_out.unitsOn({rank, m_out.place.tp, m_out.place.pp});
        for (size_t g = 0; g < mappings.size() && g < units.size(); ++g) {
            const uint32_t u = index(units[g]);
            // Every family of experts has the same names. Its copies show the order of the masters.
            if (m_out.units[u].partition.ranks() != m_reading.worldSize)
                continue;
            const auto items = mappingItems(graph, mappings[g]);
            for (size_t i = 0; i + 1 < items.size(); i += 2) {
                const Match entry = compareEntry(graph, items[i], items[i + 1], {order, u, rank});
                if (entry == Match::Differs)
                    return entry;
                match = std::max(match, entry);
            }
        }
        return match;
    }

    /// A rank's part of a unit.
    struct UnitPart {
        const ParamOrder& order;
        uint32_t unit = 0;
        uint32_t rank = 0;
    };

    Match compareEntry(const PickleGraph& graph, NodeId nameNode, NodeId addressNode, const UnitPart& part)
    {
        const auto name = asString(graph, nameNode);
        const auto address = asObject(graph, addressNode);
        if (!name || !address)
            return Match::NothingRecorded;
        const auto numel = asInteger(graph, lookup(graph, address->attributes, "numel"));
        const auto start = asInteger(graph, lookup(graph, address->attributes, "start"));
        const auto id = m_out.findParam(*name);
        if (!numel || !start || !id)
            return Match::NothingRecorded;
        const Parameter& param = m_out.params[index(*id)];
        if (param.group != m_out.units[part.unit].group)
            return Match::Differs;
        bool found = false;
        part.order.partitions[part.unit].forEachFragment(
            part.order.places[part.unit][param.indexInUnit], 0, param.elements, [&](const FlatPiece& piece) {
                if (piece.rank != part.rank)
                    return piece.rank < part.rank;
                found = piece.flatOffset == static_cast<uint64_t>(*start)
                    && piece.elements == static_cast<uint64_t>(*numel);
                return false;
            });
        return found || *numel == 0 ? Match::Fits : Match::Differs;
    }

    Reading& m_reading;
    Checkpoint& m_out;
    ParamOrder m_expected;
    std::vector<std::pair<uint32_t, FileId>> m_usable; ///< rank, its file
};

} // namespace

Result<bool> checkSliceMappings(Reading& reading)
{
    return SliceMappings(reading).check();
}

} // namespace shardscope
