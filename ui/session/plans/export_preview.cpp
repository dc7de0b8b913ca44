// SPDX-License-Identifier: Apache-2.0
#include "ui/session/plans/export_preview.h"

#include "core/base/text.h"
#include "core/engine/write/replaced_files.h"
#include "core/layout/slices/slice_rules.h"
#include "core/plan/export/adapter_config.h"
#include "core/plan/export/export_place.h"
#include "ui/jobs/free_later.h"
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

/// Whether the target, which is typed, is a path to write to.
Status checkTarget(const io::Path& target)
{
    if (target.empty())
        return fail(ErrorCode::Usage, "Choose the folder to write.");
    if (!isWholePath(target))
        return fail(ErrorCode::Usage, "The target folder must be an absolute path.", target.native());
    return {};
}

} // namespace

PlanPreview previewOf(
    io::FileSystem& files, const CheckpointPtr& source, const ExportWish& wish, const std::stop_token& token)
{
    PlanPreview preview;
    JobContext job(token);
    // A plan is shown while the target is still being typed.
    const auto place = exportPlace(files, isWholePath(wish.target) ? wish.target : io::Path("/export"));
    auto plan = planFor(files, source, wish, place ? place->name : "export", job);
    if (!plan) {
        preview.problem = std::move(plan).error();
        return preview;
    }
    preview.plan = freedOnWorker(std::move(*plan));
    const Status typed = checkTarget(wish.target);
    if (!place || !typed) {
        preview.problem = !place ? place.error() : typed.error();
        return preview;
    }
    preview.folder = place->folder;
    examineFolder(files, source->runFolder, wish, job, preview);
    const bool isTaken = preview.problem && preview.problem->code == ErrorCode::TargetExists;
    if (!preview.problem || isTaken) {
        const auto replaced = replacedFiles(files, *preview.plan, preview.folder);
        if (replaced && !replaced->empty())
            preview.note = replacedText(*replaced);
    }
    if (isTaken && !preview.note.isEmpty())
        preview.problem->message += ". " + preview.note.toStdString();
    return preview;
}

bool takesConfigurationAlong(const WritePlan& plan)
{
    const std::vector<PlanSource>& sources = plan.sources;
    return plan.exported->options.format == ExportFormat::Adapter
        && std::any_of(sources.begin(), sources.end(),
            [](const PlanSource& source) { return source.path.filename().native() == kAdapterConfigName; });
}

QString commandOf(const SourceWords& source, const ExportWish& wish)
{
    ExportOptions options = wish.options;
    const bool byExport = kExportFormats[static_cast<size_t>(options.format)].byExport;
    ShellCommand command(byExport ? u"export"_s : u"convert"_s, source);
    command.argument(wish.target.native());
    if (!byExport)
        command.option(u"--to"_s, toText(exportFormatName(options.format)));
    return commandText(command, fieldsOf(options), wish);
}

} // namespace shardscope::ui
