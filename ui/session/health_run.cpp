// SPDX-License-Identifier: Apache-2.0
#include "ui/session/health_run.h"

#include "core/base/parallel.h"
#include "core/checkpoint/model/require.h"
#include "core/compute/compute_choice.h"
#include "core/engine/verify/run_tags.h"
#include "core/layout/counts.h"
#include "core/report/answers/health_report.h"
#include "core/report/text/csv_row.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace Qt::StringLiterals;
using namespace std::string_view_literals;

namespace shardscope::ui {

namespace {

using Deliver = std::function<void(const HealthFacts&)>;

Result<TagHealth> readTag(io::FileSystem& files, const Checkpoint& checkpoint, bool exact,
    const HealthCache& cache, JobContext& job)
{
    SHARDSCOPE_CHECK(requireModel(checkpoint));
    const ComputeNeed need{ComputeTask::Statistics, exact ? countFiles(checkpoint).bytes : 0, defaultJobs()};
    SHARDSCOPE_TRY(const ComputeChoice compute, chooseCompute({}, need, files, userRateMemory()));
    return readHealth(files, checkpoint, exact, cache, {0, *compute.backend}, job);
}

/// The newest tags of the run, and the checkpoint's own.
void addHistory(io::FileSystem& files, const HealthRun::Place& place, bool exact, const HealthCache& cache,
    JobContext& job, HealthFacts& facts, const Deliver& deliver)
{
    auto run = tagsOf(files, place.run, job);
    if (!run) {
        facts.error = run.error();
        return;
    }
    facts.isListed = true;
    std::vector<std::string>& names = run->names;
    if (names.size() < 2)
        return;
    const size_t all = names.size();
    if (all > HealthRun::kMostTags) {
        const auto own = std::ranges::find(names, place.tag);
        const auto end = own == names.end() ? names.end() : own + 1;
        const auto newest = names.end() - static_cast<std::ptrdiff_t>(HealthRun::kMostTags);
        if (end > newest) {
            names.erase(names.begin(), newest);
        } else { // those up to an old one
            names.erase(end, names.end());
            if (names.size() > HealthRun::kMostTags)
                names.erase(names.begin(), names.end() - static_cast<std::ptrdiff_t>(HealthRun::kMostTags));
        }
    }
    facts.tagsOmitted = all - names.size();
    facts.tagsLeft = names.size();
    auto history = readHistory(files, {run->base, names, place.open, exact, &*facts.tag}, cache, {0}, job,
        [&](const TagHealth& tag) {
            facts.history.push_back(tag);
            --facts.tagsLeft;
            deliver(facts);
        });
    if (!history)
        facts.error = history.error();
}

void readFacts(io::FileSystem& files, const Checkpoint& checkpoint, const HealthRun::Place& place, bool exact,
    JobContext& job, const Deliver& deliver)
{
    HealthFacts facts;
    const HealthCache cache(files, userHealthCache());
    auto tag = readTag(files, checkpoint, exact, cache, job);
    if (!tag) {
        facts.error = tag.error();
    } else {
        if (!place.tag.empty())
            tag->tag = place.tag;
        facts.tag = std::move(*tag);
        facts.alarms = findAlarms({*facts.tag});
        deliver(facts);
        if (!place.run.empty())
            addHistory(files, place, exact, cache, job, facts, deliver);
        if (!facts.history.empty() && facts.tagsLeft == 0 && !facts.error)
            facts.alarms = findAlarms(facts.history);
    }
    facts.isComplete = true;
    deliver(facts);
}

} // namespace

bool HealthFacts::hasAlarm(std::string_view layer) const
{
    return std::ranges::any_of(alarms, [&](const HealthAlarm& alarm) {
        return alarm.code != kNotRead && alarm.layer == layer && tag && alarm.tag == tag->tag;
    });
}

HealthRun::HealthRun(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
}

void HealthRun::start(const CheckpointPtr& checkpoint, Place place, bool exact)
{
    m_exact = exact;
    m_running = true;
    m_progress = {};
    m_facts = std::make_shared<const HealthFacts>();
    m_worker.run<Stage>(
        [&files = m_files, checkpoint, place = std::move(place), exact](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext job(token, [&deliver](const Progress& progress) { deliver({progress, {}}); });
            readFacts(files, *checkpoint, place, exact, job, [&deliver](const HealthFacts& facts) {
                deliver({{}, std::make_shared<const HealthFacts>(facts)});
            });
        },
        [this](const Stage& stage) { receive(stage); });
    Q_EMIT changed();
}

void HealthRun::receive(const Stage& stage)
{
    if (stage.progress) {
        m_progress = *stage.progress;
        Q_EMIT progressChanged();
        return;
    }
    m_facts = stage.facts;
    m_running = !m_facts->isComplete;
    Q_EMIT changed();
}

void HealthRun::stop()
{
    m_worker.cancel();
    m_running = false;
    Q_EMIT changed();
}

void HealthRun::clear()
{
    m_facts = std::make_shared<const HealthFacts>();
    stop();
}

namespace {

std::string finiteCell(double value)
{
    return std::isfinite(value) ? csvNumber(value) : std::string();
}

/// A line for each state of each row.
void putHealthRows(const TextSink& sink, const HealthTable& table)
{
    putCsvLine(sink,
        std::array{table.byParam ? "parameter"sv : "layer"sv, "state"sv, "elements"sv, "exact"sv, "read"sv,
            "missing"sv, "rms"sv, "l2"sv, "zeros"sv, "nan"sv, "inf"sv, "min"sv, "max"sv, "update_rms"sv,
            "update_ratio"sv});
    const std::vector<HealthRow>& rows = table.byParam ? table.facts->tag->params : table.facts->tag->layers;
    for (const uint32_t number : table.rows) {
        const HealthRow& row = rows[number];
        for (const StateHealth& state : row.states)
            putCsvLine(sink,
                std::array{csvText(row.name), csvText(state.state), csvNumber(row.elements),
                    std::string(row.exact ? "true" : "false"), csvNumber(state.read),
                    csvNumber(state.missing), finiteCell(state.rms()), finiteCell(state.l2()),
                    csvNumber(state.zeros), csvNumber(state.nans), csvNumber(state.infinities),
                    finiteCell(state.min), finiteCell(state.max), finiteCell(row.updateRms()),
                    finiteCell(row.updateRatio())});
    }
}

} // namespace

QString writeHealthTable(io::FileSystem& files, HealthTable table, const SaveTarget& target)
{
    table.head.about.push_back(identityOf(files, *table.checkpoint, table.path));
    return saveText(target, [&](const TextSink& sink) {
        if (target.path.endsWith(u".json"_s, Qt::CaseInsensitive)) {
            const AnswerContext context{*table.checkpoint, table.path.native(), {}, nullptr, &table.head};
            const HealthFacts& facts = *table.facts;
            return writeHealthJson(sink,
                {context, *facts.tag, facts.tag->params, facts.history, facts.alarms, table.byParam,
                    facts.hasHistory(), facts.tagsOmitted});
        }
        putHeadComments(sink, table.head);
        putHealthRows(sink, table);
    });
}

} // namespace shardscope::ui
