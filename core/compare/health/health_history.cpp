// SPDX-License-Identifier: Apache-2.0
#include "core/compare/health/health_history.h"

#include "core/base/wire.h"
#include "core/compare/diff/state_scalars.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/io/content_digest.h"
#include "core/io/user_cache.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace shardscope {

void wire(auto& io, Wired<StateHealth> auto& state)
{
    io(state.state, state.read, state.missing, state.zeros, state.nans, state.infinities);
    io(state.min, state.max, state.count, state.squares, state.magnitudes);
}

void wire(auto& io, Wired<HealthRow> auto& row)
{
    io(row.name, row.parameters, row.elements, row.exact, row.states);
    io(row.updated, row.updateSquares, row.weightSquares);
    io.word(row.noUpdate, NoUpdate::NoMoments);
    io(row.rule, row.firstStep, row.lastStep, row.shape);
}

void wire(auto& io, Wired<TagHealth::Group> auto& group)
{
    io(group.index, group.rule, group.plannedRate);
}

void wire(auto& io, Wired<RankSample> auto& sample)
{
    io(sample.rank, sample.digest);
}

void wire(auto& io, Wired<TagHealth> auto& health) // its tag is known, and one with an error is not kept
{
    io(health.step, health.skipped, health.exact, health.groups, health.layers, health.params, health.ranks,
        health.oddRanks);
}

namespace {

/// Changes with what is computed or how it is stored.
constexpr std::string_view kFormat = "shardscope health 2";
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
constexpr size_t kMaxKept = 500; ///< files
constexpr std::string_view kSuffix = ".health";

std::string digestOf(std::string_view text)
{
    io::ContentDigest digest(io::DigestKind::Xxh3);
    digest.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return digest.finish();
}

std::string keyOf(const Checkpoint& checkpoint, bool exact)
{
    WireWriter out;
    out(kFormat, exact, checkpoint.tagFolder.string(), kindName(checkpoint.kind));
    for (const CheckpointFile& file : checkpoint.files)
        out(file.name, file.identity);
    return digestOf(out.take());
}

/// torch's schedulers keep the rate that they start from, and OneCycleLR its highest, as options of the
/// group.
std::optional<double> plannedRateOf(const std::vector<DigestedScalar>& scalars, const ParamGroup& group)
{
    const std::string name = "group/" + std::to_string(group.index);
    std::optional<double> out;
    for (const DigestedScalar& scalar : scalars) {
        if (scalar.name != name || (scalar.state != "option/initial_lr" && scalar.state != "option/max_lr"))
            continue;
        const double rate = std::strtod(scalar.text.c_str(), nullptr);
        out = std::max(out.value_or(rate), rate);
    }
    return out;
}

/// Ranks that a finding of reading names: their files do not belong to the tag's step.
std::vector<RankCoordinate> oddRanksOf(const Checkpoint& checkpoint)
{
    std::vector<RankCoordinate> out;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.status == FileStatus::Stale && file.rank && file.role == FileRole::OptimStates)
            out.push_back(*file.rank);
    }
    return out;
}

} // namespace

const HealthRow* TagHealth::find(std::string_view layer) const
{
    const auto found = std::ranges::find(layers, layer, &HealthRow::name);
    return found == layers.end() ? nullptr : &*found;
}

double TagHealth::learningRate() const
{
    double out = 0;
    for (const Group& group : groups)
        out = std::max(out, group.rule.learningRate);
    return out;
}

double TagHealth::highestRate() const
{
    double out = learningRate();
    for (const Group& group : groups)
        out = std::max(out, group.plannedRate.value_or(0));
    return out;
}

HealthCache::HealthCache(io::FileSystem& files, io::Path folder)
    : m_files(files)
    , m_folder(std::move(folder))
{
}

std::optional<TagHealth> HealthCache::find(const Checkpoint& checkpoint, bool exact) const
{
    if (m_folder.empty() || !checkpoint.fullyRead)
        return std::nullopt;
    const std::string key = keyOf(checkpoint, exact);
    const auto bytes = m_files.readSmall(m_folder / (key + std::string(kSuffix)), kMaxBytes);
    if (!bytes || bytes->size() < key.size()
        || digestOf(bytes->substr(key.size())) != bytes->substr(0, key.size()))
        return std::nullopt;
    TagHealth out;
    if (!fromWire(std::string_view(*bytes).substr(key.size()), out))
        return std::nullopt;
    out.tag = checkpoint.tag;
    return out;
}

void HealthCache::keep(const Checkpoint& checkpoint, bool exact, const TagHealth& health) const
{
    if (m_folder.empty() || !checkpoint.fullyRead || health.error)
        return;
    const std::string content = toWire(health);
    io::keepInUserCache(m_files, m_folder / (keyOf(checkpoint, exact) + std::string(kSuffix)),
        digestOf(content) + content, kMaxKept);
}

io::Path userHealthCache()
{
    const io::Path cache = io::userCache();
    return cache.empty() ? cache : cache / "health";
}

Result<TagHealth> readHealth(io::FileSystem& files, const Checkpoint& checkpoint, bool exact,
    const HealthCache& cache, const Workers& workers, JobContext& job, const HealthTake& take)
{
    const std::vector<ParamId> params = healthParams(checkpoint);
    if (auto known = cache.find(checkpoint, exact);
        known && (!take || known->params.size() == params.size())) {
        for (size_t i = 0; take && i < params.size(); ++i)
            SHARDSCOPE_CHECK(take(params[i], known->params[i]));
        return std::move(*known);
    }
    TagHealth out;
    out.tag = checkpoint.tag;
    out.step = checkpoint.steps.globalSteps;
    out.skipped = checkpoint.steps.skippedSteps;
    const std::vector<DigestedScalar> scalars = groupScalars(checkpoint);
    for (const ParamGroup& group : checkpoint.groups)
        out.groups.push_back({group.index, updateRule(checkpoint, group), plannedRateOf(scalars, group)});
    HealthLayers layers;
    SHARDSCOPE_CHECK(computeHealth(
        files, {checkpoint, params, exact}, workers, job, [&](ParamId param, const HealthRow& row) -> Status {
            layers.add(row);
            if (params.size() <= TagHealth::kMaxParams)
                out.params.push_back(row);
            return take ? take(param, row) : Status();
        }));
    out.layers = layers.take();
    out.exact = exact || std::ranges::all_of(out.layers, &HealthRow::exact);
    bool isWhole = std::ranges::all_of(out.layers, [](const HealthRow& row) { return row.missing() == 0; });
    SHARDSCOPE_TRY(out.ranks, sampleRanks(files, checkpoint, job, isWhole));
    out.oddRanks = oddRanksOf(checkpoint);
    SHARDSCOPE_CHECK(job.poll()); // a read of the last ones may have been given up
    if (isWhole) // what could not be read now may be readable next time
        cache.keep(checkpoint, exact, out);
    return out;
}

Result<std::vector<TagHealth>> readHistory(io::FileSystem& files, const HistoryRequest& request,
    const HealthCache& cache, const Workers& workers, JobContext& job,
    const std::function<void(const TagHealth&)>& passOn)
{
    std::vector<TagHealth> out;
    for (const std::string& name : request.names) {
        SHARDSCOPE_CHECK(job.poll());
        OpenOptions options = request.open;
        options.tag = name;
        if (std::exchange(options.salvage, false))
            options.roots.erase(options.roots.begin());
        const auto read = [&]() -> Result<TagHealth> {
            if (request.known != nullptr && request.known->tag == name)
                return *request.known;
            SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, request.base, options, job));
            if (opened.checkpoint->modelError)
                return forward(*opened.checkpoint->modelError);
            return readHealth(files, *opened.checkpoint, request.exact, cache, workers, job);
        };
        auto health = read();
        if (!health && health.error().code == ErrorCode::Cancelled)
            return forward(health.error());
        TagHealth& tag = out.emplace_back(health ? std::move(*health) : TagHealth());
        if (!health)
            tag.error = health.error();
        tag.tag = name;
        if (passOn)
            passOn(tag);
    }
    return out;
}

} // namespace shardscope
