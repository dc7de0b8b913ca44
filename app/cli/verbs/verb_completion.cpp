// SPDX-License-Identifier: Apache-2.0
#include "app/cli/frame/common_options.h"
#include "app/cli/frame/completion.h"
#include "app/cli/frame/exit.h"
#include "app/cli/jobs/session.h"
#include "app/cli/verbs/verbs.h"
#include "core/base/nearest_word.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"

namespace shardscope::cli {

namespace {

void describeCompletion(auto& out, std::string_view shell, std::string_view script)
{
    out.answer("completion", "CompletionAnswer", "A shell completion script.");
    out.word("shell", shell, completionShells());
    out.field("script", script);
}

Result<int> runCompletion(Session& session)
{
    const std::string shell = session.arguments().positional("SHELL");
    const std::optional<std::string> script = completionScript(shell);
    if (!script)
        return fail(ErrorCode::Usage, "there is no completion script for the shell `" + shell + "`", {},
            "use bash, zsh or fish");
    const TextSink answer = session.output().answer();
    if (!session.output().json()) {
        answer(*script);
        return kExitDone;
    }
    writeObject(answer, [&](JsonOut& out) { describeCompletion(out, shell, *script); });
    return kExitDone;
}

} // namespace

std::string completionSchema()
{
    return schemaOf("completion", [](SchemaOut& out) { describeCompletion(out, {}, {}); });
}

Command completionCommand()
{
    return {
        .name = "completion",
        .summary = "print a completion script for a shell",
        .description = {"Prints a script that lets the shell complete commands, options and their values."},
        .positionals
        = {{.name = "SHELL", .kind = ValueKind::Choice, .help = "The shell.", .choices = completionShells()}},
        .commonOptions = outputOptions(),
        .examples = {{"source <(shardscope completion bash)", "In this shell, now:"},
            {"shardscope completion fish > ~/.config/fish/completions/shardscope.fish",
                "For all fish "
                "sessions:"}},
        .run = runCompletion,
    };
}

} // namespace shardscope::cli
