// SPDX-License-Identifier: Apache-2.0
#include "core/layout/finding_places.h"

#include "core/checkpoint/model/file_names.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/layout/lost_shares.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ranges>

namespace shardscope {

namespace {

/// Elements of a column-major matrix that are looked up one by one; beyond, the whole parameter is meant.
constexpr uint64_t kMaxSingle = 4096;

uint64_t keyOf(const RankCoordinate& rank)
{
    return (uint64_t{rank.pp} << 52U) ^ (uint64_t{rank.tp} << 32U) ^ rank.dp;
}

template <class Value>
void keepOnce(std::vector<Value>& values)
{
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
}

void keepOnce(std::vector<RankCoordinate>& ranks)
{
    std::ranges::sort(ranks, {}, keyOf);
    ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
}

/// A list whose room is used up loses its doubles before it grows: a finding can name the same ranks and
/// files a million times.
template <class Value>
void put(std::vector<Value>& to, const Value& value)
{
    constexpr size_t kFew = 256;
    if (to.size() >= kFew && to.size() == to.capacity()) {
        keepOnce(to);
        if (to.size() > to.capacity() / 2)
            to.reserve(2 * to.capacity());
    }
    to.push_back(value);
}

template <class Value>
void addOnce(std::vector<Value>& to, const Value& value)
{
    if (to.empty() || to.back() != value) // what follows each other is most often the same
        put(to, value);
}

/// The numbers of all entries with keys from `first` to `last`, each once.
template <class Key>
void take(const std::vector<std::pair<Key, uint32_t>>& index, const Key& first, const Key& last,
    FindingPlaces::Numbers& out)
{
    auto at = std::ranges::lower_bound(index, std::pair(first, uint32_t{0}));
    for (; at != index.end() && at->first <= last; ++at)
        out.push_back(at->second);
    keepOnce(out);
}

/// Whether one of these numbers is so; no further one is looked at then.
template <class Key>
bool hasOne(const std::vector<std::pair<Key, uint32_t>>& index, const Key& first, const Key& last,
    const std::function<bool(uint32_t)>& isSo)
{
    auto at = std::ranges::lower_bound(index, std::pair(first, uint32_t{0}));
    for (; at != index.end() && at->first <= last; ++at) {
        if (isSo(at->second))
            return true;
    }
    return false;
}

/// Numbers [first, last) of parameters: no other one has elements on a share. Sliced: all of them.
std::pair<uint32_t, uint32_t> paramsNear(const FlatPartition& partition, uint32_t share)
{
    if (partition.rule() == PartitionRule::Sliced)
        return {0, partition.paramCount()};
    const auto numbers = std::views::iota(uint32_t{0}, partition.paramCount());
    const auto startOf = [&](uint32_t param) { return partition.paramStart(param); };
    const auto atOrBehind = [&](uint64_t offset) {
        return static_cast<uint32_t>(
            std::ranges::lower_bound(numbers, offset, {}, startOf) - numbers.begin());
    };
    const uint64_t base = share * partition.partitionElements();
    const uint32_t before = atOrBehind(base + 1); // the last that starts there or before is the one before
    return {before == 0 ? 0 : before - 1, atOrBehind(base + partition.partitionElements())};
}

/// The shares with elements of a parameter; nothing if it has none.
std::optional<std::pair<uint32_t, uint32_t>> sharesOf(const FlatPartition& partition, uint32_t position)
{
    const uint64_t elements = position < partition.paramCount() ? partition.paramElements(position) : 0;
    if (elements == 0)
        return std::nullopt;
    return std::pair(
        partition.positionOf(position, 0).rank, partition.positionOf(position, elements - 1).rank);
}

} // namespace

/// Finds the places of one finding after the other.
class FindingPlacer
{
public:
    explicit FindingPlacer(FindingPlaces& out)
        : m_checkpoint(*out.m_checkpoint)
        , m_out(out)
    {
        for (uint32_t i = 0; i < m_checkpoint.params.size(); ++i) {
            if (const ParamId owner = m_checkpoint.params[i].sharedWith; owner != kNoParam)
                m_aliases.emplace(owner, ParamId{i});
        }
    }

    void place(const std::stop_token& token)
    {
        const std::vector<Finding>& findings = *m_out.m_findings;
        m_out.m_touched.resize(findings.size());
        const PlacedFindings placed(m_checkpoint, findings);
        for (const PlacedFindings::Item& item : placed.items()) {
            const Finding* begin = findings.data();
            if (std::less<>()(item.finding, begin) || !std::less<>()(item.finding, begin + findings.size()))
                continue; // the checkpoint's own list
            if (token.stop_requested())
                break;
            m_places = &m_out.m_touched[static_cast<size_t>(item.finding - begin)];
            add(item);
        }
        for (uint32_t i = 0; i < findings.size(); ++i)
            enter(i);
        std::ranges::sort(m_out.m_params);
        std::ranges::sort(m_out.m_ranks);
        std::ranges::sort(m_out.m_units);
        std::ranges::sort(m_out.m_files);
        std::ranges::sort(m_out.m_shares);
    }

private:
    void add(const PlacedFindings::Item& item)
    {
        const Place& where = *item.where;
        if (const ParamAddress* param = where.param())
            addElements(item.param, *param);
        else if (const FlatAddress* flat = where.flat())
            addFlat(*flat);
        else if (const RankCoordinate* rank = where.rank())
            put(m_places->ranks, *rank);
        else if (!where.file().empty())
            addFile(where, item.file);
    }

    /// With the names that are tied to it.
    void addParam(ParamId owner)
    {
        addOnce(m_places->params, owner);
        const auto [first, last] = m_aliases.equal_range(owner);
        for (auto alias = first; alias != last; ++alias)
            put(m_places->params, alias->second);
    }

    void addElements(ParamId owner, const ParamAddress& address)
    {
        if (owner == kNoParam)
            return;
        addParam(owner);
        const uint64_t elements = m_checkpoint.params[index(owner)].elements;
        auto [begin, end] = address.range.value_or(std::pair(uint64_t{0}, elements));
        const auto states
            = address.state.empty() ? statesOf(m_checkpoint, owner) : std::vector{address.state};
        for (const std::string& state : states) {
            const auto source = findState(m_checkpoint, owner, state);
            if (!source) {
                addUnit(m_checkpoint.params[index(owner)].unit); // lacks the state
                continue;
            }
            if (source->whole != nullptr) {
                addHolder(source->whole->run.file);
                continue;
            }
            addUnit(source->unit);
            if (m_checkpoint.transposedOrder(owner) && end - begin > kMaxSingle)
                std::tie(begin, end) = std::pair(uint64_t{0}, elements);
            const bool isOfRanks = m_checkpoint.units[index(source->unit)].kind != UnitKind::Whole;
            const auto visit = [&](const Fragment& fragment) {
                if (isOfRanks)
                    addOnce(m_places->ranks, fragment.rank);
                addHolder(fragment.file);
                return true;
            };
            if (end - begin > kMaxSingle)
                forEachStoredFragmentOf(m_checkpoint, *source, begin, end, visit);
            else
                forEachFragmentOf(m_checkpoint, *source, begin, end, visit);
        }
    }

    void addUnit(UnitId unit)
    {
        if (unit != kNoUnit)
            addOnce(m_places->units, unit);
    }

    void addHolder(FileId file)
    {
        if (file != kNoFile)
            addOnce(m_places->files, file);
    }

    void addFlat(const FlatAddress& address)
    {
        put(m_places->ranks, address.rank);
        for (uint32_t u = 0; u < m_checkpoint.units.size(); ++u) {
            const FlatUnit& unit = m_checkpoint.units[u];
            const bool isMeant = address.subgroup
                ? unit.kind == UnitKind::SubGroup && unit.subgroup == address.group
                : unit.kind == UnitKind::Group && unit.group == static_cast<int32_t>(address.group);
            const auto share = isMeant ? m_checkpoint.shareOf(unit, address.rank) : std::nullopt;
            if (!share)
                continue;
            addUnit(UnitId{u});
            addHolder(holderOf(unit, *share));
            const bool isWhole = (address.element == 0 && !address.end) // so readers name a whole buffer
                || (address.element == 0 && address.last() >= unit.partition.partitionElements());
            if (isWhole) {
                put(m_places->shares, UnitShare{UnitId{u}, *share});
                continue;
            }
            unit.partition.forEachPiece(*share, address.element, address.last(), [&](const FlatPiece& piece) {
                if (!piece.isPadding())
                    addParam(unit.params[piece.param]);
                return true;
            });
        }
    }

    [[nodiscard]] FileId holderOf(const FlatUnit& unit, uint32_t share) const
    {
        const Checkpoint& part = m_checkpoint.partOf(unit);
        const auto& files = unit.kind == UnitKind::Frozen ? part.modelFiles : part.optimFiles;
        const uint32_t rank = unit.dpRankOf(share);
        return rank < files.size() ? files[rank] : kNoFile;
    }

    void addFile(const Place& where, FileId id)
    {
        std::optional<RankCoordinate> rank;
        FileRole role = FileRole::Other;
        if (id != kNoFile) {
            put(m_places->files, id);
            rank = m_checkpoint.file(id).rank;
            role = m_checkpoint.file(id).role;
        } else if (const auto name = parseCheckpointFileName(where.file())) {
            const uint32_t slices = std::max(1U, m_checkpoint.parallel.tp);
            rank = RankCoordinate{name->dp, name->mp % slices, name->mp / slices};
            role = name->role;
        }
        const bool isOfRank = role == FileRole::OptimStates || role == FileRole::Swap
            || (role == FileRole::ModelStates && m_checkpoint.modelFiles.size() > 1);
        if (rank && isOfRank) {
            put(m_places->ranks, *rank);
            addLost(*rank, role == FileRole::ModelStates);
        }
        if (id != kNoFile)
            addInside(where, id, rank);
    }

    void findLost()
    {
        const LostShares lost(m_checkpoint);
        m_lostOn.emplace();
        for (uint32_t u = 0; u < m_checkpoint.units.size() && !lost.isEmpty(); ++u) {
            for (const uint32_t share : lost.of(UnitId{u}))
                m_lostOn->emplace(
                    keyOf(m_checkpoint.rankOf(m_checkpoint.units[u], share)), UnitShare{UnitId{u}, share});
        }
    }

    void addLost(const RankCoordinate& rank, bool isModelFile)
    {
        if (!m_lostOn)
            findLost();
        const auto [first, last] = m_lostOn->equal_range(keyOf(rank));
        for (auto lost = first; lost != last; ++lost) {
            const UnitShare& share = lost->second;
            if ((m_checkpoint.units[index(share.first)].kind == UnitKind::Frozen) == isModelFile) {
                put(m_places->shares, share);
                addUnit(share.first);
            }
        }
    }

    /// What a record or byte of a file holds.
    void addInside(const Place& where, FileId file, const std::optional<RankCoordinate>& rank)
    {
        const FileAddress* bytes = where.bytes();
        const std::string name = where.record() != nullptr ? where.record()->record
            : bytes != nullptr                             ? bytes->record
                                                           : std::string();
        if (bytes != nullptr && name.empty()) {
            const auto found = locate(m_checkpoint, *bytes);
            if (found && found->param) {
                if (const auto id = m_checkpoint.findParam(found->param->name))
                    addParam(*id);
            }
            return;
        }
        const auto& content = m_checkpoint.file(file).content;
        const auto record = content && !name.empty() ? content->zip().find(name) : std::nullopt;
        if (!record)
            return;
        for (const WholeTensor& whole : m_checkpoint.whole) {
            if (whole.run.file == file && whole.run.record == *record && whole.param != kNoParam)
                addParam(whole.param);
        }
        for (const UnitId unit : m_checkpoint.unitsOn(rank.value_or(RankCoordinate{})))
            addRecord(unit, file, *record);
    }

    void addRecord(UnitId id, FileId file, uint32_t record)
    {
        const FlatUnit& unit = m_checkpoint.units[index(id)];
        for (const UnitState& state : unit.states) {
            state.visitRuns([&](const MappedRun& mapped) {
                if (mapped.run.file != file || mapped.run.record != record)
                    return true;
                addUnit(id);
                if (mapped.param)
                    addParam(unit.params[*mapped.param]);
                else
                    put(m_places->shares, UnitShare{id, mapped.share});
                return true;
            });
        }
    }

    void enter(uint32_t finding)
    {
        TouchedPlaces& places = m_out.m_touched[finding];
        keepOnce(places.params);
        keepOnce(places.units);
        keepOnce(places.files);
        keepOnce(places.shares);
        keepOnce(places.ranks);
        for (const ParamId param : places.params)
            m_out.m_params.emplace_back(param, finding);
        for (const RankCoordinate& rank : places.ranks)
            m_out.m_ranks.emplace_back(keyOf(rank), finding);
        for (const UnitId unit : places.units)
            m_out.m_units.emplace_back(unit, finding);
        for (const FileId file : places.files)
            m_out.m_files.emplace_back(file, finding);
        for (const UnitShare& share : places.shares)
            m_out.m_shares.emplace_back(share, finding);
    }

    const Checkpoint& m_checkpoint;
    FindingPlaces& m_out;
    std::multimap<ParamId, ParamId> m_aliases; ///< by owner
    std::optional<std::multimap<uint64_t, UnitShare>> m_lostOn; ///< by rank; unset: not looked up yet
    TouchedPlaces* m_places = nullptr;
};

FindingPlaces::FindingPlaces(CheckpointPtr checkpoint, Findings findings, const std::stop_token& token)
    : m_checkpoint(std::move(checkpoint))
    , m_findings(std::move(findings))
{
    FindingPlacer(*this).place(token);
}

void FindingPlaces::forEachParam(
    uint32_t finding, const std::function<void(ParamId)>& visit, const std::stop_token& token) const
{
    constexpr uint32_t kBetweenLooks = 1024;
    const TouchedPlaces& places = m_touched[finding];
    uint32_t visited = 0;
    const auto isStopped = [&] { return ++visited % kBetweenLooks == 0 && token.stop_requested(); };
    for (const ParamId param : places.params) {
        if (isStopped())
            return;
        visit(param);
    }
    for (const auto& [id, share] : places.shares) {
        const FlatUnit& unit = m_checkpoint->units[index(id)];
        const auto [begin, end] = paramsNear(unit.partition, share);
        for (uint32_t at = begin; at < std::min<size_t>(end, unit.params.size()); ++at) {
            if (isStopped())
                return;
            const auto held = sharesOf(unit.partition, at);
            if (held && held->first <= share && share <= held->second)
                visit(unit.params[at]);
        }
    }
}

std::optional<std::pair<UnitShare, UnitShare>> FindingPlaces::sharesAt(ParamId param) const
{
    const Parameter& asked = m_checkpoint->params[index(param)];
    const ParamId owner = index(asked.sharedWith) < m_checkpoint->params.size() ? asked.sharedWith : param;
    const FlatUnit* unit = m_shares.empty() ? nullptr : m_checkpoint->unitOf(owner);
    if (unit == nullptr)
        return std::nullopt;
    const Parameter& held = m_checkpoint->params[index(owner)];
    const auto shares = sharesOf(unit->partition, held.indexInUnit);
    if (!shares)
        return std::nullopt;
    return std::pair(UnitShare{held.unit, shares->first}, UnitShare{held.unit, shares->second});
}

FindingPlaces::Numbers FindingPlaces::ofParam(ParamId param) const
{
    Numbers out;
    if (const auto shares = sharesAt(param))
        take(m_shares, shares->first, shares->second, out);
    take(m_params, param, param, out);
    return out;
}

bool FindingPlaces::hasMark(ParamId param) const
{
    const auto isMark
        = [this](uint32_t finding) { return (*m_findings)[finding].severity != Severity::Info; };
    if (hasOne(m_params, param, param, isMark))
        return true;
    const auto shares = sharesAt(param);
    return shares && hasOne(m_shares, shares->first, shares->second, isMark);
}

FindingPlaces::Numbers FindingPlaces::ofRank(const RankCoordinate& rank) const
{
    Numbers out;
    take(m_ranks, keyOf(rank), keyOf(rank), out);
    return out;
}

FindingPlaces::Numbers FindingPlaces::ofUnit(UnitId unit) const
{
    Numbers out;
    take(m_units, unit, unit, out);
    return out;
}

FindingPlaces::Numbers FindingPlaces::ofFile(FileId file) const
{
    Numbers out;
    take(m_files, file, file, out);
    return out;
}

} // namespace shardscope
