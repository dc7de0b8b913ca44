// SPDX-License-Identifier: Apache-2.0
#include "app/cli/session.h"

namespace shardscope::cli {

Result<OpenedCheckpoint> Session::openPath() const
{
    OpenOptions options;
    options.tag = arguments().text("--tag");
    for (const std::string& root : arguments().all("--root"))
        options.roots.emplace_back(root);
    return openCheckpoint(m_files, askedPath(), options, m_job);
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

std::string Session::askedPath() const
{
    const std::string source = arguments().positional("SRC");
    return source.empty() ? arguments().positional("PATH") : source;
}

AnswerContext Session::context(const OpenedCheckpoint& opened) const
{
    return {*opened.checkpoint, askedPath(), opened.selectedFile};
}

Status requireTag(const Checkpoint& checkpoint)
{
    if (!checkpoint.modelError || checkpoint.modelError->code != ErrorCode::NotFound)
        return {};
    Error error = *checkpoint.modelError;
    if (!checkpoint.tags.empty()) {
        error.hint = "name a tag with --tag:";
        for (const std::string& tag : checkpoint.tags)
            error.hint += " " + tag;
    }
    return forward(std::move(error));
}

Status requireKnownKind(const Checkpoint& checkpoint)
{
    if (checkpoint.modelError && checkpoint.modelError->code == ErrorCode::Unsupported)
        return forward(*checkpoint.modelError);
    return {};
}

} // namespace shardscope::cli
