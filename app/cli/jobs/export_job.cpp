// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/export_job.h"

#include "app/cli/jobs/option_values.h"
#include "core/checkpoint/model/require.h"
#include "core/plan/export/export_place.h"

namespace shardscope::cli {

namespace {

Result<ExportOptions> optionsFrom(const Session& session)
{
    ExportOptions out;
    SHARDSCOPE_CHECK(readOptions(session, fieldsOf(out)));
    const bool hasShards = session.arguments().has("--shard-size");
    if (out.format == ExportFormat::Npy && hasShards)
        return fail(ErrorCode::Usage,
            "--shard-size cannot be used with --format npy: a NumPy file holds one "
            "tensor");
    if (out.format == ExportFormat::Adapter && hasShards)
        return fail(ErrorCode::Usage,
            "--shard-size cannot be used with --format adapter: PEFT reads an "
            "adapter from one file");
    if (out.format != ExportFormat::Adapter && !out.adapterOptions.empty())
        return fail(ErrorCode::Usage, "--adapter-option needs --format adapter");
    return out;
}

} // namespace

Result<WriteJob> exportJobFor(const Session& session, const CheckpointPtr& source, ExportOptions options,
    const std::string& destination)
{
    auto placed = planExportTo(session.files(), source, std::move(options), destination, session.job());
    if (!placed)
        return forward(refusal(placed.error()));
    return WriteJob{std::move(placed->plan), source, destination, std::move(placed->folder)};
}

Result<WriteJob> planExportJob(Session& session)
{
    SHARDSCOPE_TRY(ExportOptions options, optionsFrom(session));
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, session.openTag());
    SHARDSCOPE_CHECK(requireKnownKind(*opened.checkpoint));
    session.job().log("planning an export of " + checkpointFolder(*opened.checkpoint));
    return exportJobFor(
        session, opened.checkpoint, std::move(options), session.arguments().positional("DST"));
}

} // namespace shardscope::cli
