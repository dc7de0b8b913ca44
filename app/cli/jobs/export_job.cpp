// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/export_job.h"

#include "core/base/text.h"
#include "core/engine/write/export_place.h"

namespace shardscope::cli {

namespace {

/// --rename OLD=NEW is split at the first `=`.
Result<std::vector<std::pair<std::string, std::string>>> renamesAsked(const Arguments& arguments)
{
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string& text : arguments.all("--rename")) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            return fail(ErrorCode::Usage, "--rename " + toValidUtf8(text) + " is not OLD=NEW", {},
                "use for example --rename model.norm=norm");
        out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return out;
}

std::vector<std::string> statesAsked(const Arguments& arguments)
{
    std::vector<std::string> out;
    if (!arguments.has("--states"))
        return out;
    const std::string text = arguments.text("--states");
    for (size_t begin = 0;;) {
        const size_t comma = text.find(',', begin);
        out.push_back(text.substr(begin, comma == std::string::npos ? comma : comma - begin));
        if (comma == std::string::npos)
            return out;
        begin = comma + 1;
    }
}

Result<ExportOptions> optionsFrom(const Session& session)
{
    const Arguments& arguments = session.arguments();
    ExportOptions out;
    out.format = exportFormatFromName(arguments.text("--format")).value_or(out.format); // a choice
    out.dtype = castFromName(arguments.text("--dtype"));
    out.shardBytes = arguments.size("--shard-size").value_or(out.shardBytes);
    if (out.shardBytes == 0)
        return fail(ErrorCode::Usage, "--shard-size must be at least 1");
    if (out.format == ExportFormat::Npy && arguments.has("--shard-size"))
        return fail(ErrorCode::Usage,
            "--shard-size cannot be used with --format npy: a NumPy file holds one "
            "tensor");
    if (out.format == ExportFormat::Adapter && arguments.has("--shard-size"))
        return fail(ErrorCode::Usage,
            "--shard-size cannot be used with --format adapter: PEFT reads an "
            "adapter from one file");
    out.adapterOptions = arguments.all("--adapter-option");
    if (out.format != ExportFormat::Adapter && !out.adapterOptions.empty())
        return fail(ErrorCode::Usage, "--adapter-option needs --format adapter");
    out.only = arguments.all("--only");
    out.stripPrefix = arguments.text("--strip-prefix");
    SHARDSCOPE_TRY(out.renames, renamesAsked(arguments));
    out.states = statesAsked(arguments);
    out.ties = arguments.all("--tie");
    SHARDSCOPE_TRY(out.patterns, patternsText(session));
    SHARDSCOPE_TRY(out.allow, allowedCodes(arguments));
    return out;
}

} // namespace

Result<WriteJob> exportJobFor(const Session& session, const CheckpointPtr& source, ExportOptions options,
    const std::string& destination)
{
    SHARDSCOPE_TRY(ExportPlace place, exportPlace(session.files(), destination));
    options.folderName = std::move(place.name);
    auto plan = planExport(session.files(), source, options, session.job());
    if (!plan)
        return forward(refusal(plan.error()));
    return WriteJob{std::move(*plan), source, destination, std::move(place.folder)};
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
