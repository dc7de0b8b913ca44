// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/session.h"

#include "core/checkpoint/model/checkpoint_kind.h"
#include "core/checkpoint/model/require.h"
#include "core/torchfile/skeleton/skeleton_files.h"

namespace shardscope::cli {

OpenOptions Session::openOptions() const
{
    OpenOptions out;
    out.tag = arguments().text("--tag");
    out.kind = kindNamed(arguments().text("--kind"));
    out.salvage = arguments().has("--donor");
    if (out.salvage)
        out.roots.emplace_back(askedPath());
    for (const std::string& root : arguments().all("--root"))
        out.roots.emplace_back(root);
    return out;
}

Result<OpenedCheckpoint> Session::openPath() const
{
    return openCheckpoint(m_files, openedPath(), openOptions(), m_job);
}

Result<OpenedCheckpoint> Session::openTag() const
{
    SHARDSCOPE_TRY(OpenedCheckpoint opened, openPath());
    SHARDSCOPE_CHECK(requireTag(*opened.checkpoint));
    return opened;
}

Result<OpenedCheckpoint> Session::openModel() const
{
    SHARDSCOPE_TRY(OpenedCheckpoint opened, openTag());
    SHARDSCOPE_CHECK(shardscope::requireModel(*opened.checkpoint));
    m_output.warn(opened.checkpoint->findings);
    return opened;
}

Result<OpenedCheckpoint> Session::openOther(const std::string& path, const std::string& tag) const
{
    OpenOptions options;
    options.tag = tag;
    SHARDSCOPE_TRY(OpenedCheckpoint opened, openCheckpoint(m_files, path, options, m_job));
    SHARDSCOPE_CHECK(requireTag(*opened.checkpoint));
    SHARDSCOPE_CHECK(shardscope::requireModel(*opened.checkpoint));
    return opened;
}

std::string Session::askedPath() const
{
    const std::string source = arguments().positional("SRC");
    return source.empty() ? arguments().positional("PATH") : source;
}

std::string Session::openedPath() const
{
    const std::string donor = arguments().text("--donor");
    return donor.empty() ? askedPath() : donor;
}

AnswerContext Session::context(const OpenedCheckpoint& opened, const ComputeChoice* compute) const
{
    return {*opened.checkpoint, askedPath(), opened.selectedFile, compute};
}

Status requireValues(const Session& session)
{
    const Command& command = *session.parsed().command;
    const Arguments& arguments = session.arguments();
    const bool needed = command.values == Command::Values::Needed
        || (command.values == Command::Values::ToRun && !arguments.has("--dry-run"));
    if (!needed)
        return {};
    for (const Positional& positional : command.positionals) {
        for (const std::string& path : arguments.allOf(positional.name)) {
            if (positional.kind == ValueKind::Path || positional.kind == ValueKind::Folder)
                SHARDSCOPE_CHECK(requireValuesIn(session.files(), path, "`" + command.name + "`"));
        }
    }
    return {};
}

Status requireValuesIn(io::FileSystem& files, const std::string& path, std::string_view what)
{
    if (!holdsNoValues(files, path))
        return {};
    return fail(ErrorCode::Unsupported, std::string(kNoValues) + ", and " + std::string(what) + " needs them",
        path, "run it on the original checkpoint");
}

} // namespace shardscope::cli
