// SPDX-License-Identifier: Apache-2.0
#include "app/cli/jobs/text_file.h"

#include "core/engine/write/output_place.h"
#include "core/io/published_file.h"
#include "core/plan/saved/saved_plan.h"

#include <algorithm>

namespace shardscope::cli {

Status writeTextFile(const Session& session, const std::string& path, const std::string& text, bool replace)
{
    if (session.shared() != nullptr && session.shared()->rank() > 0)
        return {}; // the first process writes it
    if (path == kStandardOutput)
        return session.output().writeFile(text);
    io::FileSystem& files = session.files();
    SHARDSCOPE_TRY(const auto file, io::createForPublishing(files, path, replace));
    return io::publishFile(files, *file, path, replace,
        file->writeAt(0, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
}

Status checkStandardOutput(const Session& session, const std::vector<std::string>& fileOptions)
{
    const Arguments& arguments = session.arguments();
    std::string first = arguments.has("--json") && !session.output().hasStreamForFile() ? "--json" : "";
    for (const std::string& option : fileOptions) {
        if (arguments.text(option) != kStandardOutput)
            continue;
        if (!first.empty())
            return fail(ErrorCode::Usage, first + " and " + option + " - both write to standard output", {},
                "name a file for " + option);
        first = option + " -";
    }
    return {};
}

namespace {

constexpr uint64_t kPlanLimitBytes = uint64_t{256} << 20;

/// What a saved plan reads.
void addPlanned(io::FileSystem& files, const std::string& path, std::vector<io::Path>& out)
{
    const auto text = files.readSmall(path, kPlanLimitBytes);
    const auto plan = text ? parseSavedPlan(*text, path) : Result<SavedPlan>(forward(text.error()));
    if (!plan)
        return; // the verb says what is wrong with it
    out.push_back(plan->source);
    out.insert(out.end(), plan->roots.begin(), plan->roots.end());
}

/// The values of all arguments and options of these kinds.
std::vector<io::Path> valuesOf(const Parsed& parsed, std::initializer_list<ValueKind> kinds)
{
    std::vector<io::Path> out;
    const auto add = [&](ValueKind kind, const std::vector<std::string>& values) {
        if (std::ranges::find(kinds, kind) != kinds.end())
            out.insert(out.end(), values.begin(), values.end());
    };
    for (const Positional& positional : parsed.command->positionals)
        add(positional.kind, parsed.arguments.allOf(positional.name));
    for (const auto* options : {&parsed.command->options, &parsed.command->commonOptions}) {
        for (const Option& option : *options)
            add(option.kind, parsed.arguments.all(option.name));
    }
    return out;
}

} // namespace

Status checkWrittenFiles(const Parsed& parsed, io::FileSystem& files)
{
    std::vector<io::Path> written = valuesOf(parsed, {ValueKind::NewFile});
    std::erase(written, io::Path(kStandardOutput));
    if (written.empty())
        return {};
    std::vector<io::Path> read = valuesOf(parsed, {ValueKind::Path, ValueKind::Folder});
    for (const io::Path& file : valuesOf(parsed, {ValueKind::File})) {
        read.push_back(file);
        addPlanned(files, file.string(), read);
    }
    JobContext job;
    for (const io::Path& file : written)
        SHARDSCOPE_CHECK(checkOutsideSources(files, file, read, job));
    return {};
}

Status requireFile(const std::string& path, const std::string& name, const Hint& hint)
{
    if (path != kStandardOutput)
        return {};
    return fail(ErrorCode::Usage, name + " cannot be standard output", {}, hint);
}

} // namespace shardscope::cli
