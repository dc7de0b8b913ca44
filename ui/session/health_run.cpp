// SPDX-License-Identifier: Apache-2.0
#include "ui/session/health_run.h"

#include "core/base/parallel.h"
#include "core/checkpoint/model/require.h"
#include "core/compute/compute_choice.h"
#include "core/engine/verify/run_tags.h"
#include "core/layout/counts.h"

#include <algorithm>

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

/// The tags of the run, of which the newest are read.
void addHistory(io::FileSystem& files, const Checkpoint& checkpoint, bool exact, const HealthCache& cache,
    JobContext& job, HealthFacts& facts, const Deliver& deliver)
{
    auto run = tagsOf(files, checkpoint.tagFolder, job);
    if (!run || run->names.size() < 2)
        return;
    if (run->names.size() > HealthRun::kMostTags) {
        facts.tagsOmitted = run->names.size() - HealthRun::kMostTags;
        run->names.erase(
            run->names.begin(), run->names.begin() + static_cast<std::ptrdiff_t>(facts.tagsOmitted));
    }
    facts.tagsLeft = run->names.size();
    auto history
        = readHistory(files, {run->base, run->names, exact}, cache, {0}, job, [&](const TagHealth& tag) {
              facts.history.push_back(tag);
              --facts.tagsLeft;
              deliver(facts);
          });
    if (!history)
        facts.error = history.error();
}

void readFacts(
    io::FileSystem& files, const Checkpoint& checkpoint, bool exact, JobContext& job, const Deliver& deliver)
{
    HealthFacts facts;
    const HealthCache cache(files, userHealthCache());
    auto tag = readTag(files, checkpoint, exact, cache, job);
    if (!tag) {
        facts.error = tag.error();
    } else {
        facts.tag = std::move(*tag);
        facts.alarms = findAlarms({*facts.tag});
        deliver(facts);
        addHistory(files, checkpoint, exact, cache, job, facts, deliver);
        if (!facts.history.empty() && !facts.error)
            facts.alarms = findAlarms(facts.history);
    }
    facts.isComplete = true;
    deliver(facts);
}

} // namespace

bool HealthFacts::hasAlarm(std::string_view layer) const
{
    return std::ranges::any_of(alarms,
        [&](const HealthAlarm& alarm) { return alarm.layer == layer && tag && alarm.tag == tag->tag; });
}

HealthRun::HealthRun(io::FileSystem& files, QObject* parent)
    : QObject(parent)
    , m_files(files)
{
}

void HealthRun::start(const CheckpointPtr& checkpoint, bool exact)
{
    m_exact = exact;
    m_running = true;
    m_progress = {};
    m_facts = std::make_shared<const HealthFacts>();
    m_worker.run<Stage>(
        [&files = m_files, checkpoint, exact](
            const std::stop_token& token, const std::function<void(Stage)>& deliver) {
            JobContext job(token, [&deliver](const Progress& progress) { deliver({progress, {}}); });
            readFacts(files, *checkpoint, exact, job, [&deliver](const HealthFacts& facts) {
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

} // namespace shardscope::ui
