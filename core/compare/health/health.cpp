// SPDX-License-Identifier: Apache-2.0
#include "core/compare/health/health.h"

#include "core/base/ordered_results.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/compare/diff/state_scalars.h"
#include "core/compare/digest/tensor_statistics.h"
#include "core/io/content_digest.h"
#include "core/io/outage_watch.h"
#include "core/layout/counts.h"
#include "core/layout/present_elements.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace shardscope {

namespace {

constexpr uint64_t kReadElements = 128 * 1024;
constexpr uint64_t kItemElements = 32 * kReadElements;
constexpr uint64_t kMaxRuns = 16;
/// Elements of all samples together, of one state: more parameters have shorter samples.
constexpr uint64_t kSampleBudget = uint64_t{64} << 20;
/// A run of a matrix stored column by column also reads all data between its elements.
constexpr uint64_t kTransposedRuns = 2;

constexpr std::string_view kMasters = "fp32";
constexpr std::string_view kWeight = "weight";

/// What one piece of a parameter has. Sums are not scaled yet.
struct Found {
    std::vector<Statistics> states;
    std::vector<uint64_t> missing;
    uint64_t updated = 0;
    double updateSquares = 0;
    double weightSquares = 0;

    void add(const Found& further)
    {
        states.resize(further.states.size());
        missing.resize(further.missing.size());
        for (size_t i = 0; i < states.size(); ++i) {
            states[i] += further.states[i];
            missing[i] += further.missing[i];
        }
        updated += further.updated;
        updateSquares += further.updateSquares;
        weightSquares += further.weightSquares;
    }
};

void wire(auto& io, Wired<Found> auto& found)
{
    io(found.states, found.missing, found.updated, found.updateSquares, found.weightSquares);
    io.require(found.states.size() == found.missing.size());
}

/// A parameter that is looked at.
struct Subject {
    ParamId param = kNoParam;
    std::vector<StateSource> sources; ///< weights first
    std::vector<std::string> states;
    UpdateRule rule;
    NoUpdate noUpdate = NoUpdate::Known;
    std::optional<size_t> first; ///< of the moments, into states
    std::optional<size_t> second;
};

struct Item {
    size_t subject = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t runs = 0; ///< not 0: [begin, end) is the whole tensor, and only these are read
    bool last = true; ///< of its parameter
};

std::optional<size_t> indexOf(const std::vector<std::string>& states, std::string_view state)
{
    const auto found = std::ranges::find(states, state);
    return found == states.end() || state.empty()
        ? std::nullopt
        : std::optional(static_cast<size_t>(found - states.begin()));
}

Subject subjectOf(const Checkpoint& checkpoint, const UpdateRules& rules, ParamId param)
{
    Subject out;
    out.param = param;
    std::vector<std::string> states = statesOf(checkpoint, param);
    const bool hasMasters = indexOf(states, kMasters).has_value();
    std::erase_if(states, [&](const std::string& state) { return hasMasters && state == kWeight; }); // a copy
    std::ranges::stable_partition(states, [](const std::string& state) { return isWeightState(state); });
    for (std::string& state : states) {
        const auto source = findState(checkpoint, param, state);
        if (!source || !hasStatistics(source->dtype))
            continue;
        out.sources.push_back(*source);
        out.states.push_back(std::move(state));
    }
    out.rule = rules.of(param);
    const MomentNames moments = momentNames(out.rule.kind);
    out.first = indexOf(out.states, moments.first);
    out.second = indexOf(out.states, moments.second);
    const bool hasWeights = !out.states.empty() && isWeightState(out.states[0]);
    if (checkpoint.params[index(param)].role != ParamRole::Trainable)
        out.noUpdate = NoUpdate::Frozen;
    else if (out.rule.kind == UpdateKind::Unknown)
        out.noUpdate = NoUpdate::UnknownRule;
    else if (!keepsUpdates(out.rule))
        out.noUpdate = NoUpdate::NotKept;
    else if (!hasWeights || !out.first || (!moments.second.empty() && !out.second)
        || (out.rule.kind == UpdateKind::Adam && out.rule.step < 1))
        out.noUpdate = NoUpdate::NoMoments;
    return out;
}

std::vector<double> numbersOf(DType dtype, std::span<const uint8_t> bytes)
{
    std::vector<double> out(bytes.size() / itemSize(dtype));
    convertElements(
        dtype, bytes, DType::Float64, {reinterpret_cast<uint8_t*>(out.data()), out.size() * sizeof(double)});
    return out;
}

class Pass
{
public:
    Pass(io::FileSystem& files, const HealthRequest& request, const Workers& workers, JobContext& job)
        : m_files(files)
        , m_checkpoint(request.checkpoint)
        , m_backend(*workers.backend)
        , m_job(job)
    {
        const UpdateRules rules(m_checkpoint);
        const uint64_t count = std::max<uint64_t>(request.params.size(), 1);
        const uint64_t runs = std::clamp<uint64_t>(kSampleBudget / kSampleRunElements / count, 1, kMaxRuns);
        uint64_t bytes = 0;
        for (const ParamId param : request.params) {
            m_subjects.push_back(subjectOf(m_checkpoint, rules, param));
            const uint64_t elements = addItems(request.exact ? 0 : runs);
            for (const StateSource& source : m_subjects.back().sources)
                bytes += elements * itemSize(source.dtype);
        }
        m_job.beginPhase("reading", workers.shareOf(bytes));
    }

    [[nodiscard]] const std::vector<Item>& items() const { return m_items; }
    [[nodiscard]] const Subject& subject(const Item& item) const { return m_subjects[item.subject]; }

    Result<Found> run(const Item& item) const
    {
        const size_t states = subject(item).states.size();
        Found out{std::vector<Statistics>(states), std::vector<uint64_t>(states)};
        if (item.runs == 0) {
            for (uint64_t at = item.begin; at < item.end; at += kReadElements)
                SHARDSCOPE_CHECK(add(out, subject(item), at, std::min(item.end, at + kReadElements)));
            return out;
        }
        for (uint64_t i = 0; i < item.runs; ++i) {
            const uint64_t at = sampleRunBegin(item.end, item.runs, i);
            SHARDSCOPE_CHECK(add(out, subject(item), at, at + kSampleRunElements));
        }
        return out;
    }

private:
    /// Of the newest subject. Returns the number of elements to read.
    uint64_t addItems(uint64_t runs)
    {
        const size_t subject = m_subjects.size() - 1;
        const ParamId param = m_subjects.back().param;
        const uint64_t elements = m_checkpoint.params[index(param)].elements;
        if (m_checkpoint.transposedOrder(param))
            runs = std::min(runs, kTransposedRuns);
        if (runs > 0 && elements > runs * kSampleRunElements) {
            m_items.push_back({subject, 0, elements, runs, true});
            return runs * kSampleRunElements;
        }
        uint64_t at = 0;
        do {
            const uint64_t end = std::min(elements, at + kItemElements);
            m_items.push_back({subject, at, end, 0, end == elements});
            at = end;
        } while (at < elements);
        return elements;
    }

    Status add(Found& out, const Subject& subject, uint64_t begin, uint64_t end) const
    {
        std::vector<std::vector<uint8_t>> bytes(subject.states.size());
        bool isWhole = true;
        for (size_t i = 0; i < subject.states.size(); ++i) {
            SHARDSCOPE_CHECK(m_job.poll());
            const uint64_t bytesEach = itemSize(subject.sources[i].dtype);
            bytes[i].resize((end - begin) * bytesEach);
            auto read = readPresentElements(
                m_files, m_checkpoint, {subject.sources[i].param, subject.states[i], begin, end}, bytes[i]);
            if (!read && read.error().code == ErrorCode::Cancelled)
                return forward(read.error());
            m_job.advance(bytes[i].size());
            using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
            const Ranges missing = read ? std::move(*read) : Ranges{{begin, end}};
            isWhole = isWhole && missing.empty();
            uint64_t at = begin;
            const auto present = [&](uint64_t until) {
                if (at < until)
                    out.states[i] += m_backend.statistics(subject.sources[i].dtype,
                        std::span(bytes[i]).subspan((at - begin) * bytesEach, (until - at) * bytesEach),
                        nullptr);
            };
            for (const auto& [from, to] : missing) {
                present(from);
                out.missing[i] += to - from;
                at = to;
            }
            present(end);
        }
        if (isWhole && subject.noUpdate == NoUpdate::Known)
            addUpdates(out, subject, bytes);
        return {};
    }

    static void addUpdates(Found& out, const Subject& subject, const std::vector<std::vector<uint8_t>>& bytes)
    {
        const auto numbers = [&](std::optional<size_t> state) {
            return state ? numbersOf(subject.sources[*state].dtype, bytes[*state]) : std::vector<double>();
        };
        const std::vector<double> weights = numbers(0);
        const std::vector<double> first = numbers(subject.first);
        const std::vector<double> second = numbers(subject.second);
        std::vector<double> updates(weights.size());
        lastUpdates(subject.rule, {weights, first, second}, updates);
        for (size_t i = 0; i < weights.size(); ++i) {
            if (!std::isfinite(updates[i]) || !std::isfinite(weights[i]))
                continue;
            ++out.updated;
            out.updateSquares += updates[i] * updates[i];
            out.weightSquares += weights[i] * weights[i];
        }
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    const ComputeBackend& m_backend;
    JobContext& m_job;
    std::vector<Subject> m_subjects;
    std::vector<Item> m_items;
};

/// Of names and shapes, so that only layers that are built alike are compared.
uint64_t shapeDigest(std::string_view name, const Shape& shape)
{
    const auto numbered = numberedName(name);
    io::ContentDigest digest(io::DigestKind::Xxh3);
    const auto add = [&](std::string_view text) {
        digest.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    };
    add(numbered ? numbered->rest : name);
    for (const auto size : shape)
        add("," + std::to_string(size));
    uint64_t out = 0;
    for (const char digit : digest.finish().substr(0, 15))
        out = out * 16 + static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    return out;
}

HealthRow rowOf(const Checkpoint& checkpoint, const Subject& subject, const Found& found, bool exact)
{
    const Parameter& param = checkpoint.params[index(subject.param)];
    HealthRow out;
    out.name = param.name;
    out.parameters = 1;
    out.elements = param.elements;
    out.exact = exact;
    for (size_t i = 0; i < subject.states.size(); ++i) {
        const Statistics& of = found.states[i];
        const auto read = static_cast<double>(of.elements);
        const double scale = exact || of.elements == 0 ? 1 : static_cast<double>(param.elements) / read;
        out.states.push_back(
            {subject.states[i], of.elements, found.missing[i], of.zeros, of.nans, of.infinities, of.min,
                of.max, static_cast<double>(of.finite()) * scale, of.squares * scale, of.magnitudes * scale});
    }
    const auto updated = static_cast<double>(found.updated);
    const double scale = exact || found.updated == 0 ? 1 : static_cast<double>(param.elements) / updated;
    out.updated = updated * scale;
    out.updateSquares = found.updateSquares * scale;
    out.weightSquares = found.weightSquares * scale;
    out.noUpdate
        = subject.noUpdate == NoUpdate::Known && found.updated == 0 ? NoUpdate::NoMoments : subject.noUpdate;
    out.rule = subject.rule;
    if (subject.noUpdate != NoUpdate::Frozen) {
        if (const FlatUnit* unit = checkpoint.unitOf(subject.param))
            out.firstStep = out.lastStep = unit->step;
    }
    out.shape = shapeDigest(param.name, param.shape);
    return out;
}

} // namespace

std::vector<ParamId> healthParams(const Checkpoint& checkpoint)
{
    std::vector<ParamId> out;
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const Parameter& param = checkpoint.params[i];
        if (param.sharedWith == kNoParam && param.role != ParamRole::Buffer && param.elements > 0)
            out.push_back(ParamId{i});
    }
    return out;
}

Status computeHealth(io::FileSystem& files, const HealthRequest& request, const Workers& workers,
    JobContext& job, const HealthTake& take)
{
    const Pass pass(files, request, workers, job);
    const auto& items = pass.items();
    const io::OutageWatch watch(pathsOf(request.checkpoint));
    Found current;
    const auto find = [&](size_t i) { return watch.judged(pass.run(items[i])); };
    const auto add = [&](size_t i, const Found& found) -> Status {
        current.add(found);
        if (!items[i].last)
            return {};
        const Subject& subject = pass.subject(items[i]);
        return take(subject.param,
            rowOf(request.checkpoint, subject, std::exchange(current, {}), items[i].runs == 0));
    };
    return parallelInOrder<Found>({items.size(), workers.jobs, workers.shared}, job, find, add);
}

Result<std::vector<RankSample>> sampleRanks(
    io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job, bool& isWhole)
{
    constexpr uint64_t kBytes = 1024;
    constexpr size_t kUnits = 4; // of one rank
    using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Key, std::vector<uint8_t>> samples;
    std::map<Key, size_t> units;
    for (const FlatUnit& unit : checkpoint.units) {
        if (!unit.isFlat() || unit.states.size() < 2)
            continue;
        const UnitState& state = unit.states[1]; // a moment: it changes in every step, unlike weights
        for (uint32_t share = 0; share < state.perRank.size(); ++share) {
            const StoredRun& run = state.perRank[share];
            const RankCoordinate rank = checkpoint.rankOf(unit, share);
            const Key key{rank.dp, rank.tp, rank.pp};
            const uint64_t bytes = run.elements * itemSize(state.dtype);
            SHARDSCOPE_CHECK(job.poll());
            if (!run.isPresent() || run.record == StoredRun::kNoRecord || bytes == 0 || ++units[key] > kUnits)
                continue;
            const auto file = files.openRead(checkpoint.file(run.file).path);
            std::vector<uint8_t> buffer(std::min(bytes, kBytes));
            const bool isRead = file && (*file)->readAt(run.byteOffset + (bytes - buffer.size()) / 3, buffer);
            isWhole = isWhole && isRead;
            if (isRead)
                std::ranges::copy(buffer, std::back_inserter(samples[key]));
        }
    }
    std::vector<RankSample> out;
    for (const auto& [key, bytes] : samples) {
        out.push_back({{std::get<0>(key), std::get<1>(key), std::get<2>(key)}, {}});
        if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; }))
            continue; // padding, or no gradient yet
        io::ContentDigest digest(io::DigestKind::Xxh3);
        digest.update(bytes);
        out.back().digest = digest.finish();
    }
    return out;
}

} // namespace shardscope
