// SPDX-License-Identifier: Apache-2.0
#include "ui/models/plans/plan_file.h"

#include "ui/jobs/save_text.h"
#include "ui/jobs/stored_jobs.h"

namespace shardscope::ui {

namespace {

template <class Plan>
QString save(
    const QString& path, const Plan& plan, const PlacedCheckpoint& source, const io::Path& destination)
{
    const SavedPlan saved = savedPlanOf(plan, source, destination);
    return saveText(path, [&](const TextSink& write) { write(savedPlanText(saved)); });
}

} // namespace

QString savePlanFile(
    const QString& path, const ReshardPlan& plan, const PlacedCheckpoint& source, const io::Path& destination)
{
    return save(path, plan, source, destination);
}

QString savePlanFile(
    const QString& path, const ExportPlan& plan, const PlacedCheckpoint& source, const io::Path& destination)
{
    return save(path, plan, source, destination);
}

} // namespace shardscope::ui
