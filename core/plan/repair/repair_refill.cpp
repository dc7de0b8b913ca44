// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/require.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/repair_tags.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

/// A mark with more parts names their span only: nobody reads them, and manifests are read at every opening.
constexpr size_t kMaxParts = 64;

using Masters = RepairOptions::Masters;
using Moments = RepairOptions::Moments;

std::string stepText(const Checkpoint& checkpoint)
{
    return checkpoint.steps.globalSteps ? " (step " + std::to_string(*checkpoint.steps.globalSteps) + ")"
                                        : std::string();
}

/// The name of a donor in marks.
std::string donorText(const Checkpoint& source, const Checkpoint& donor)
{
    const std::string at = donor.runFolder == source.runFolder ? donor.tag : donor.tagFolder.string();
    return "`" + at + "`" + stepText(donor);
}

class Refilling
{
public:
    explicit Refilling(Amended& amended)
        : m_amended(amended)
        , m_source(*amended.source)
    {
        for (const LostPart& part : amended.lost)
            m_lost[part.state].insert(part.params.begin(), part.params.end());
    }

    Status run()
    {
        Checkpoint& out = *m_amended.checkpoint;
        // Uses the file of a remaining rank as the template of all optimizer files.
        if (!m_amended.lostRanks.empty() && (out.templateOptim == kNoFile || !isLeft(out.templateOptim)))
            return fail(ErrorCode::Unsupported,
                "the first rank's optimizer file is lost, and it is the template for all others",
                out.tagFolder.string(), "reshard another checkpoint instead");
        m_amended.refills = std::make_shared<Refills>(m_amended.checkpoint, m_amended.model);
        for (const LostPart& part : m_amended.lost) {
            for (const auto& [begin, end] : part.runs)
                SHARDSCOPE_CHECK(m_amended.refills->lose(part.state, part.params.front(), begin, end));
        }
        SHARDSCOPE_CHECK(takeTied());
        for (const auto& [state, params] : m_lost) {
            SHARDSCOPE_CHECK(params.empty() ? Status()
                    : state == "fp32"       ? refillMasters()
                    : state == "weight"     ? refillWeights()
                                            : refillMoment(state));
        }
        return move();
    }

private:
    [[nodiscard]] bool isLeft(FileId file) const
    {
        const auto& kept = m_amended.checkpoint->optimFiles;
        return std::find(kept.begin(), kept.end(), file) != kept.end();
    }

    [[nodiscard]] std::vector<ParamId> lostOf(const std::string& state) const
    {
        const std::set<ParamId>& params = m_lost.at(state);
        return {params.begin(), params.end()};
    }

    [[nodiscard]] bool hasCopies() const
    {
        const std::set<ParamId>& params = m_lost.at("fp32");
        return std::all_of(params.begin(), params.end(), [&](ParamId id) {
            const WholeTensor* copy = m_amended.checkpoint->wholeOf(id);
            return copy != nullptr && copy->run.isPresent();
        });
    }

    /// A module that several pipeline stages share is trained in each of them, with identical bits.
    Status takeTied()
    {
        for (auto& [state, params] : m_lost) {
            for (auto at = params.begin(); at != params.end();) {
                const Amended* twin = tiedTwin(*at, state);
                if (twin == nullptr) {
                    ++at;
                    continue;
                }
                SHARDSCOPE_CHECK(m_amended.refills->fillOne(*at, state, twin->checkpoint, state));
                m_stages[state][*at] = twin->source->place.pp;
                at = params.erase(at);
            }
            if (params.empty())
                markAll(state, {});
        }
        return {};
    }

    /// Another stage that has the complete module.
    [[nodiscard]] const Amended* tiedTwin(ParamId id, const std::string& state) const
    {
        const std::string& name = m_source.params[index(id)].name;
        if (m_amended.whole == nullptr || tiedKeyOf(name).empty())
            return nullptr;
        for (const Amended* other : m_amended.whole->parts) {
            const auto same = other->source->place.tp == m_source.place.tp && other != &m_amended
                ? other->source->findParam(name)
                : std::nullopt;
            const auto there = same ? findState(*other->checkpoint, *same, state) : tl::unexpected(Error{});
            const bool lost
                = !there || std::any_of(other->lost.begin(), other->lost.end(), [&](const LostPart& part) {
                      return part.state == state
                          && std::find(part.params.begin(), part.params.end(), *same) != part.params.end();
                  });
            if (!lost)
                return other;
        }
        return nullptr;
    }

    Status refillMasters()
    {
        const Masters from = m_amended.options.masters;
        if (from == Masters::Copies || (from == Masters::Default && hasCopies())) {
            SHARDSCOPE_CHECK(m_amended.refills->fill("fp32", m_amended.checkpoint, "weight", lostOf("fp32")));
            markAll("fp32", "refilled from the 16-bit copies in the model file");
            return {};
        }
        SHARDSCOPE_TRY(const CheckpointPtr other, donorOf(m_amended));
        if (!other)
            return fail(ErrorCode::Refused,
                "the lost masters cannot be restored: there are no 16-bit copies of them and no other "
                "complete tag",
                m_source.tagFolder.string(), "name another checkpoint of the run with --from");
        const std::string state = hasAllOf(*other, "fp32", "fp32") ? "fp32" : "weight";
        SHARDSCOPE_CHECK(m_amended.refills->fill("fp32", other, state, lostOf("fp32")));
        markAll("fp32", "refilled from " + donorText(m_source, *other));
        return {};
    }

    /// Refills frozen parameters and buffers, which no optimizer stores.
    Status refillWeights()
    {
        SHARDSCOPE_TRY(const CheckpointPtr other, donorOf(m_amended));
        if (!other)
            return fail(ErrorCode::Refused, "weights are lost that only another checkpoint can supply",
                m_source.tagFolder.string(), "name the base model's weights, or another tag, with --from");
        SHARDSCOPE_CHECK(m_amended.refills->fill("weight", other, "weight", lostOf("weight")));
        markAll("weight", "grafted from " + donorText(m_source, *other));
        return {};
    }

    /// Moves states in another order than recorded.
    Status move()
    {
        for (const auto& [state, moved] : m_amended.moved) {
            if (m_lost.contains(state))
                return fail(ErrorCode::Refused,
                    "`" + state + "` is in another order than recorded, and a part of it is lost",
                    m_source.tagFolder.string(),
                    "repair the order first, and then the lost part on the copy");
            for (const ParamId param : moved.params)
                SHARDSCOPE_CHECK(
                    m_amended.refills->lose(state, param, 0, m_source.params[index(param)].elements));
            SHARDSCOPE_CHECK(m_amended.refills->fill(state, moved.from, state, moved.params));
        }
        return {};
    }

    Status refillMoment(const std::string& state)
    {
        if (m_amended.options.moments != Moments::Zeros) {
            SHARDSCOPE_TRY(const CheckpointPtr other, donorOf(m_amended));
            if (other && (hasAllOf(*other, state, state) || m_amended.options.moments == Moments::Donor)) {
                SHARDSCOPE_CHECK(m_amended.refills->fill(state, other, state, lostOf(state)));
                markAll(state, "refilled from " + donorText(m_source, *other));
                return {};
            }
            if (m_amended.options.moments == Moments::Donor)
                return fail(ErrorCode::Refused, "there is no other complete tag to take `" + state + "` from",
                    m_source.tagFolder.string(), "name another checkpoint of the run with --from");
        }
        m_amended.refills->fillWithZeros(state);
        markAll(state, "filled with zeros");
        return {};
    }

    /// Whether the other checkpoint has this state of every parameter that lost some of `lost`.
    [[nodiscard]] bool hasAllOf(
        const Checkpoint& other, const std::string& state, const std::string& lost) const
    {
        const std::set<ParamId>& params = m_lost.at(lost);
        return std::all_of(params.begin(), params.end(), [&](ParamId id) {
            const auto found = other.findParam(m_source.params[index(id)].name);
            return found && findState(other, *found, state).has_value();
        });
    }

    void markAll(const std::string& state, const std::string& how)
    {
        for (const LostPart& part : m_amended.lost) {
            if (part.state == state)
                m_amended.mark(part.code, part.where,
                    "`" + state + "` of " + part.of + " is " + howOf(part, how), partsOf(part));
        }
    }

    /// The runs of a part, if they are not all of its place.
    [[nodiscard]] static std::vector<Place> partsOf(const LostPart& part)
    {
        std::vector<Place> out;
        const ParamAddress* where = part.where.param();
        if (where == nullptr || part.runs.size() < 2 || part.runs.size() > kMaxParts)
            return out;
        for (const auto& run : part.runs)
            out.emplace_back(ParamAddress{where->name, where->state, run});
        return out;
    }

    /// The text for `part`, with the stages that have the modules it shares.
    [[nodiscard]] std::string howOf(const LostPart& part, const std::string& how) const
    {
        std::set<uint32_t> stages;
        bool others = false;
        for (const ParamId param : part.params) {
            const auto ofState = m_stages.find(part.state);
            const bool tied = ofState != m_stages.end() && ofState->second.contains(param);
            if (tied)
                stages.insert(ofState->second.at(param));
            others = others || !tied;
        }
        std::string out = others ? how : std::string();
        for (const uint32_t stage : stages)
            out += (out.empty() ? "refilled from stage " : ", the modules it shares from stage ")
                + std::to_string(stage);
        return out;
    }

    Amended& m_amended;
    const Checkpoint& m_source;
    std::map<std::string, std::set<ParamId>> m_lost; ///< by state
    std::map<std::string, std::map<ParamId, uint32_t>>
        m_stages; ///< for tied parameters: the stage that has them
};

std::string degreesText(const ParallelDegrees& degrees)
{
    return std::to_string(degrees.tp) + " and " + std::to_string(degrees.pp);
}

/// The slice or stage of another checkpoint that has the same contents as `source`.
Result<CheckpointPtr> samePart(const Checkpoint& source, const ParallelDegrees& degrees, CheckpointPtr other)
{
    if (!other || (degrees.tp == 1 && other->parallel.tp == 1 && other->parallel.pp != degrees.pp))
        return other; // layer names are the same in every stage
    if (other->parallel.tp == degrees.tp && other->parallel.pp == degrees.pp) {
        for (const auto& part : other->parts) {
            if (part->place == source.place)
                return part;
        }
    }
    return fail(ErrorCode::Unsupported,
        "the other checkpoint has tensor and pipeline degrees " + degreesText(other->parallel)
            + ", this one of " + degreesText(degrees),
        other->tagFolder.string(), "reshard it to the same degrees, and pass the result");
}

} // namespace

Result<CheckpointPtr> donorOf(Amended& amended)
{
    if (amended.whole != nullptr) {
        SHARDSCOPE_TRY(CheckpointPtr other, donorOf(*amended.whole));
        return samePart(*amended.source, amended.whole->source->parallel, std::move(other));
    }
    if (amended.donor)
        return *amended.donor;
    CheckpointPtr found;
    if (!amended.options.donor.empty()) {
        SHARDSCOPE_TRY(const OpenedCheckpoint opened,
            openCheckpoint(amended.files, amended.options.donor, {}, amended.job));
        SHARDSCOPE_CHECK(requireComplete(*opened.checkpoint));
        found = opened.checkpoint;
    } else {
        const Checkpoint& source = *amended.source;
        SHARDSCOPE_TRY(found, neighbourTag(amended.files, source.runFolder, source.tag, amended.job));
    }
    amended.donor = found;
    return found;
}

Status refillLost(Amended& amended)
{
    if (amended.lost.empty() && amended.moved.empty() && !amended.model.differ())
        return {};
    return Refilling(amended).run();
}

} // namespace shardscope
