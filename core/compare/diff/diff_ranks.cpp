// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_places.h"
#include "core/layout/fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace shardscope {

namespace {

constexpr uint64_t kSampleElements = 256;
constexpr int kSamples = 8; ///< of each shard that is compared with another

/// Compared elements of one rank, and how many of them differ.
struct Share {
    uint64_t elements = 0;
    uint64_t different = 0;
};

/// Compares one side's shards with the other side as the reference.
class Ranks
{
public:
    Ranks(const DiffInput& input, bool left)
        : m_files(input.files)
        , m_mine(left ? input.left : input.right)
        , m_other(left ? input.right : input.left)
        , m_left(left)
        , m_job(input.job)
    {
        for (const FlatUnit& unit : m_mine.units) {
            auto& shares = m_sharesByRank.emplace_back();
            for (uint32_t i = 0; unit.isFlat() && i < unit.partition.ranks(); ++i)
                shares.emplace(rankText(m_mine.rankOf(unit, i)), i);
        }
    }

    /// Compares the first `perFragment` elements of every fragment.
    Status look(const StateDiff& diff, uint64_t perFragment)
    {
        m_shares.clear();
        m_perFragment = perFragment;
        countAll(comparedStates(diff));
        for (const ParamDifference& difference : diff.params) {
            if (difference.param.isPaired() && difference.param.sameShape)
                SHARDSCOPE_CHECK(count(difference));
        }
        return {};
    }

    /// The ranks with differences, if most of their elements differ and all other ranks are equal.
    [[nodiscard]] std::vector<std::string> differing() const
    {
        std::vector<std::string> out;
        for (const auto& [rank, share] : m_shares) {
            if (share.different == 0)
                continue;
            if (share.elements == 0 || share.different * 2 < share.elements)
                return {};
            out.push_back(rank);
        }
        return out.size() < m_shares.size() ? out : std::vector<std::string>();
    }

    /// The ranks with mostly different elements.
    [[nodiscard]] std::vector<std::string> suspects() const
    {
        std::vector<std::string> out;
        for (const auto& [rank, share] : m_shares) {
            if (share.different > 0 && share.different * 2 >= share.elements)
                out.push_back(rank);
        }
        return out;
    }

    [[nodiscard]] size_t size() const { return m_shares.size(); }

    /// The rank that a rank's masters belong to: "dp0.tp0.pp0", itself if they are its own.
    [[nodiscard]] std::optional<std::string> ownerOfContent(
        const std::string& rank, const std::vector<std::string>& candidates) const
    {
        for (const std::string& other : candidates) {
            if (other != rank && holds(rank, other))
                return other;
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] ParamId mine(const PairedParam& param) const { return m_left ? param.left : param.right; }
    [[nodiscard]] ParamId others(const PairedParam& param) const { return m_left ? param.right : param.left; }

    Status count(const ParamDifference& difference)
    {
        const PairedParam& param = difference.param;
        for (const StateDifference& state : difference.states) {
            if (state.state.isCopy || state.state.leftType != state.state.rightType)
                continue;
            const std::string& name = m_left ? state.state.left : state.state.right;
            const auto source = findState(m_mine, mine(param), name);
            if (!source || source->whole != nullptr || m_mine.transposedOrder(source->param))
                continue;
            Status status;
            forEachFragmentOf(m_mine, *source, 0, source->elements, [&](const Fragment& piece) {
                const uint64_t count = std::min(piece.elements, m_perFragment);
                const auto found
                    = differences(param, state.state, piece.paramOffset, piece.paramOffset + count);
                if (!found) {
                    status = forward(found.error());
                    return false;
                }
                m_shares[rankText(piece.rank)].different += *found;
                return true;
            });
            SHARDSCOPE_CHECK(status);
        }
        return {};
    }

    /// Names, on this side, of the states that count() looks at.
    [[nodiscard]] std::set<std::string> comparedStates(const StateDiff& diff) const
    {
        std::set<std::string> out;
        for (const ParamDifference& difference : diff.params) {
            for (const PairedState& state : difference.param.states) {
                if (!state.isCopy && state.leftType == state.rightType)
                    out.insert(m_left ? state.left : state.right);
            }
        }
        return out;
    }

    /// The data of ranks in partitioned units, of these states.
    void countAll(const std::set<std::string>& states)
    {
        for (uint32_t i = 0; i < m_mine.units.size(); ++i) {
            const FlatUnit& unit = m_mine.units[i];
            if (!unit.isFlat() || unit.partition.ranks() < 2)
                continue;
            for (uint32_t state = 0; state < unit.states.size(); ++state) {
                if (!states.contains(unit.states[state].name))
                    continue;
                for (uint32_t share = 0; share < unit.partition.ranks(); ++share)
                    forEachFragmentOnRank(m_mine, UnitId{i}, state, share, [&](const Fragment& piece) {
                        m_shares[rankText(piece.rank)].elements += std::min(piece.elements, m_perFragment);
                        return true;
                    });
            }
        }
    }

    Result<uint64_t> differences(
        const PairedParam& param, const PairedState& state, uint64_t begin, uint64_t end)
    {
        uint64_t out = 0;
        const uint64_t item = itemSize(state.leftType);
        for (uint64_t at = begin; at < end; at += kPieceElements) {
            SHARDSCOPE_CHECK(m_job.poll());
            const uint64_t stop = std::min(end, at + kPieceElements);
            std::vector<uint8_t> here((stop - at) * item);
            std::vector<uint8_t> there(here.size());
            SHARDSCOPE_CHECK(readElements(
                m_files, m_mine, {mine(param), m_left ? state.left : state.right, at, stop}, here));
            SHARDSCOPE_CHECK(readElements(
                m_files, m_other, {others(param), m_left ? state.right : state.left, at, stop}, there));
            for (uint64_t i = 0; i < stop - at; ++i)
                out += std::equal(here.begin() + static_cast<std::ptrdiff_t>(i * item),
                           here.begin() + static_cast<std::ptrdiff_t>((i + 1) * item),
                           there.begin() + static_cast<std::ptrdiff_t>(i * item))
                    ? 0
                    : 1;
        }
        return out;
    }

    /// Whether the masters on `rank` belong to `owner`, by samples that are not all zero.
    [[nodiscard]] bool holds(const std::string& rank, const std::string& owner) const
    {
        int matches = 0;
        for (uint32_t i = 0; i < m_mine.units.size(); ++i) {
            const FlatUnit& unit = m_mine.units[i];
            if (!unit.isFlat() || unit.states.empty())
                continue;
            const auto here = m_sharesByRank[i].find(rank);
            const auto there = m_sharesByRank[i].find(owner);
            if (here == m_sharesByRank[i].end() || there == m_sharesByRank[i].end())
                continue;
            int samples = 0;
            bool all = true;
            forEachFragmentOnRank(m_mine, UnitId{i}, 0, there->second, [&](const Fragment& piece) {
                const std::optional<bool> same = sampleMatches(unit, here->second, piece);
                all = all && same.value_or(true);
                matches += same.value_or(false) ? 1 : 0;
                return all && ++samples < kSamples;
            });
            if (!all)
                return false;
        }
        return matches > 0;
    }

    /// Compares elements of a fragment on the other side with the same places in another rank's buffer. Empty
    /// if the samples cannot decide.
    [[nodiscard]] std::optional<bool> sampleMatches(
        const FlatUnit& unit, uint32_t share, const Fragment& piece) const
    {
        const auto other = m_other.findParam(m_mine.params[index(piece.param)].name);
        const StoredRun& run = unit.states.front().perRank[share];
        const uint64_t count = std::min(piece.elements, kSampleElements);
        if (!other || !run.isPresent() || piece.flatOffset + count > run.elements)
            return std::nullopt;
        const uint64_t item = itemSize(unit.states.front().dtype);
        std::vector<uint8_t> expected(count * item);
        std::vector<uint8_t> found(expected.size());
        const auto file = m_files.openRead(m_mine.file(run.file).path);
        if (!file || !(*file)->readAt(run.byteOffset + piece.flatOffset * item, found)
            || !readElements(m_files, m_other,
                {*other, unit.states.front().name, piece.paramOffset, piece.paramOffset + count}, expected))
            return std::nullopt;
        if (std::all_of(expected.begin(), expected.end(), [](uint8_t byte) { return byte == 0; }))
            return std::nullopt;
        return expected == found;
    }

    io::FileSystem& m_files;
    const Checkpoint& m_mine;
    const Checkpoint& m_other;
    bool m_left;
    JobContext& m_job;
    uint64_t m_perFragment = 0;
    std::map<std::string, Share> m_shares;
    std::vector<std::map<std::string, uint32_t>> m_sharesByRank; ///< of every unit
};

std::string joined(const std::vector<std::string>& ranks)
{
    std::string out;
    for (const std::string& rank : ranks)
        out += (out.empty() ? "" : ", ") + rank;
    return out;
}

} // namespace

Status findRanks(const DiffInput& input, DiffSide side, const StateDiff& diff, std::vector<DiffCause>& out)
{
    if (diff.notCompared.elements > 0)
        return {}; // the rank that has them would look equal
    const bool isLeft = side == DiffSide::Left;
    Ranks ranks(input, isLeft);
    const auto look = [&](uint64_t perFragment) -> Result<bool> {
        const Status looked = ranks.look(diff, perFragment);
        if (!looked && looked.error().code == ErrorCode::Cancelled)
            return forward(looked.error());
        return looked.has_value(); // data that cannot be read shows nothing
    };
    // Samples exclude most other differences; two steps of one run differ everywhere.
    SHARDSCOPE_TRY(const bool sampled, look(kSampleElements));
    const std::vector<std::string> suspects = ranks.suspects();
    if (!sampled || suspects.empty())
        return {};
    std::vector<std::string> moves;
    for (const std::string& rank : suspects) {
        SHARDSCOPE_CHECK(input.job.poll());
        const auto owner = ranks.ownerOfContent(rank, suspects);
        if (!owner)
            break; // they are exchanged only if every one has an owner
        moves.push_back(rank + " has the data of " + *owner);
    }
    const std::string text = isLeft ? "the left" : "the right";
    if (moves.size() == suspects.size()) {
        out.push_back({"ranks-swapped", side,
            fmt::format("shards of {} ranks are exchanged in {} checkpoint", moves.size(), text), moves});
        return {};
    }
    if (suspects.size() == ranks.size())
        return {};
    SHARDSCOPE_TRY(const bool counted, look(std::numeric_limits<uint64_t>::max()));
    const std::vector<std::string> stale = counted ? ranks.differing() : std::vector<std::string>();
    if (!stale.empty())
        out.push_back({"stale-shard", side,
            fmt::format("only the data of {} of {} checkpoint differs: it is from another step or run",
                stale.size() == 1 ? "one rank" : fmt::format("{} ranks", stale.size()), text),
            {joined(stale)}});
    return {};
}

} // namespace shardscope
