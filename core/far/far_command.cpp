// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_command.h"

#include "core/far/far_files.h"
#include "core/serve/file_calls.h"

namespace shardscope::far {

namespace {

/// Whether it begins as every answer that is an error.
bool isError(std::string_view answer)
{
    constexpr size_t kLongestStart = 64;
    return answer.substr(0, kLongestStart).find("\"shardscope/error/") != std::string_view::npos;
}

} // namespace

Result<FarCommand> withoutHome(FarCommand command)
{
    for (std::string& word : command.words) {
        if (!word.starts_with("~/"))
            continue;
        SHARDSCOPE_TRY(const io::Path home, farAndOwnFiles().canonical(farPath(command.host, "~")));
        const auto there = farPathOf(home);
        if (!there)
            return fail(ErrorCode::Hostile, "the other host does not say where its home folder is");
        word = there->path.native() + word.substr(1);
    }
    return command;
}

Result<std::string> answerOf(const FarCommand& command)
{
    std::string answer;
    const FarQuestion question{.request = {.ask = std::string(command.changesJobs ? serve::ask::kJob
                                                   : command.isRaw                ? serve::ask::kRaw
                                                                                  : serve::ask::kAnswer),
                                   .text = command.asText,
                                   .host = command.host},
        .payload = serve::wordsPayload(command.words),
        .data = [&](std::string_view bytes) -> Status {
            if (bytes.size() > command.limit - answer.size())
                return fail(ErrorCode::LimitExceeded, "the answer of the other host is too large");
            answer += bytes;
            return {};
        },
        .progress = command.progress,
        .job = command.job,
        .outlivesStop = command.outlivesStop};
    SHARDSCOPE_TRY(const FarAnswer done, farHost(command.host).ask(question));
    if (done.last.exit.value_or(0) != 0 && isError(answer))
        return forward(ofHost(serve::parseError(answer), command.host));
    return answer;
}

} // namespace shardscope::far
