// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/export_preview.h"

#include "core/base/text.h"
#include "core/engine/write/export_place.h"
#include "core/engine/write/preflight.h"
#include "core/engine/write/replaced_files.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/export/adapter_config.h"
#include "ui/jobs/free_later.h"
#include "ui/session/plans/run_look.h"
#include "ui/session/shell_words.h"
#include "ui/session/stored_jobs.h"
#include "ui/text/plan_text.h"
#include "ui/text/text.h"

#include <algorithm>
#include <ranges>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

Result<WritePlanPtr> planFor(io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish,
    const std::string& name, JobContext& job)
{
    ExportOptions options = wish.options;
    options.folderName = name;
    if (!wish.patternsFile.empty()) {
        SHARDSCOPE_TRY(options.patterns, files.readSmall(wish.patternsFile, kPatternsLimitBytes));
    }
    return planExport(files, source, options, job);
}

/// The files that the export replaces, by name.
QString replacedText(const std::vector<std::string>& paths)
{
    constexpr size_t kShown = 4;
    QStringList shown;
    for (const std::string& path : paths | std::views::take(kShown))
        shown.append(QString::fromStdString(toValidUtf8(path)));
    const QString names = shown.join(u", "_s);
    if (paths.size() <= kShown)
        return u"The export replaces files in the target folder: %1."_s.arg(names);
    return u"The export replaces files in the target folder: %1 and %2 more."_s.arg(
        names, QString::number(paths.size() - kShown));
}

/// Whether the plan can run into the folder; always sets the free bytes.
Status checkTarget(io::FileSystem& files, const Checkpoint& source, const ExportWish& wish,
    ExportPreview& preview, JobContext& job)
{
    if (wish.target.empty())
        return fail(ErrorCode::Usage, "Choose the folder to write.");
    if (wish.target.is_relative())
        return fail(ErrorCode::Usage, "The target folder must be an absolute path.", wish.target.native());
    preview.freeBytes = freeBytesAt(files, preview.folder);
    ExecuteOptions run;
    run.destination = preview.folder;
    run.sourceRunFolder = source.runFolder;
    run.force = wish.force;
    auto problem = problemOfRun(files, *preview.plan, run, job);
    const bool isTaken = problem && problem->code == ErrorCode::TargetExists;
    if (!problem || isTaken) {
        const auto replaced = replacedFiles(files, *preview.plan, preview.folder);
        preview.note = replaced && !replaced->empty() ? replacedText(*replaced) : QString();
    }
    if (isTaken && !preview.note.isEmpty())
        problem->message += ". " + preview.note.toStdString();
    if (problem)
        return tl::unexpected(std::move(*problem));
    return {};
}

} // namespace

ExportPreview previewExport(
    io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish, const std::stop_token& token)
{
    ExportPreview preview;
    JobContext job(token);
    // A plan is shown while the target is still being typed.
    const auto place = exportPlace(files, wish.target.is_absolute() ? wish.target : io::Path("/export"));
    auto plan = planFor(files, source, wish, place ? place->name : "export", job);
    if (!plan) {
        preview.problem = std::move(plan).error();
        return preview;
    }
    preview.plan = freedOnWorker(std::move(*plan));
    if (!place) {
        preview.problem = place.error();
        return preview;
    }
    preview.folder = place->folder;
    if (auto target = checkTarget(files, *source, wish, preview, job); !target)
        preview.problem = std::move(target).error();
    preview.resumes
        = StoredJobs::begun(files, *preview.plan, preview.folder) == StoredJobs::Begun::Interrupted;
    return preview;
}

bool takesConfigurationAlong(const WritePlan& plan)
{
    const std::vector<PlanSource>& sources = plan.sources;
    return plan.exported->options.format == ExportFormat::Adapter
        && std::any_of(sources.begin(), sources.end(),
            [](const PlanSource& source) { return source.path.filename().native() == kAdapterConfigName; });
}

QString exportCommand(const SourceWords& source, const ExportWish& wish)
{
    ExportOptions options = wish.options;
    const bool byExport = kExportFormats[static_cast<size_t>(options.format)].byExport;
    ShellCommand command(byExport ? u"export"_s : u"convert"_s, source);
    command.argument(wish.target.native());
    if (!byExport)
        command.option(u"--to"_s, toText(exportFormatName(options.format)));
    return command.options(fieldsOf(options))
        .optionIfAny(u"--patterns"_s, wish.patternsFile.native())
        .flag(u"--no-verify"_s, !wish.verify)
        .flag(u"--force"_s, wish.force)
        .text();
}

} // namespace shardscope::ui
