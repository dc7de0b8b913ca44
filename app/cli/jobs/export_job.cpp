// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/export_job.h"

#include "app/cli/jobs/option_values.h"
#include "core/plan/export/export_place.h"

namespace shardscope::cli {

namespace {

Result<ExportOptions> optionsFrom(const Session& session)
{
    ExportOptions out;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(out)));
    const ExportFormatTraits& traits = traitsOf(out.format);
    if (traits.layout != ExportLayout::Shards && session.arguments().has("--shard-size"))
        return fail(ErrorCode::Usage,
            "--shard-size cannot be used with --format " + std::string(traits.name) + ": its tensors "
                + (traits.layout == ExportLayout::OneFile ? "are in one file" : "have a file each"));
    if (out.format != ExportFormat::Adapter && !out.adapterOptions.empty())
        return fail(ErrorCode::Usage, "--adapter-option needs --format adapter");
    return out;
}

} // namespace

Result<WriteJob> exportJobFor(const Session& session, const CheckpointPtr& source, ExportOptions options,
    const std::string& destination)
{
    SHARDSCOPE_TRY(PlacedExport placed,
        planExportTo(session.files(), source, std::move(options), destination, session.job()));
    return WriteJob{std::move(placed.plan), source, destination, std::move(placed.folder)};
}

Result<WriteJob> planExportJob(Session& session)
{
    SHARDSCOPE_TRY(ExportOptions options, optionsFrom(session));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    session.job().log("planning an export of " + checkpointFolder(*opened.checkpoint));
    return exportJobFor(
        session, opened.checkpoint, std::move(options), session.arguments().positional("DST"));
}

} // namespace shardscope::cli
