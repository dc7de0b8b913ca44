// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/clean_report.h"

#include "core/base/text.h"
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "core/report/text/printable.h"

namespace shardscope {

namespace {

std::string_view stateName(CleanEntry::State state)
{
    switch (state) {
    case CleanEntry::State::Abandoned:
        return "abandoned";
    case CleanEntry::State::InUse:
        return "in-use";
    case CleanEntry::State::HalfPublished:
        return "half-published";
    case CleanEntry::State::Foreign:
        return "foreign";
    case CleanEntry::State::Removed:
        break;
    }
    return "removed";
}

std::string stateText(CleanEntry::State state)
{
    if (state == CleanEntry::State::InUse)
        return "in use by a running job";
    if (state == CleanEntry::State::Foreign)
        return "a link, or of another user; kept";
    return state == CleanEntry::State::HalfPublished ? "half published, kept" : std::string(stateName(state));
}

} // namespace

std::string workAgeText(const CleanEntry& entry)
{
    constexpr uint64_t kMinute = 60;
    constexpr uint64_t kHour = 60 * kMinute;
    constexpr uint64_t kDay = 24 * kHour;
    if (!entry.ageSeconds)
        return {};
    const uint64_t seconds = *entry.ageSeconds;
    if (seconds >= 2 * kDay)
        return std::to_string(seconds / kDay) + " days";
    if (seconds >= 2 * kHour)
        return std::to_string(seconds / kHour) + " hours";
    return seconds >= 2 * kMinute ? std::to_string(seconds / kMinute) + " min"
                                  : std::to_string(seconds) + " s";
}

void describe(auto& out, const CleanEntry& entry)
{
    out.is("UnfinishedWork", "What an interrupted job or report left, or a running one uses.");
    out.name("path", entry.work.path.string());
    out.name("target", entry.work.target, "the tag, folder or file that the job writes");
    out.word("kind",
        entry.work.isLink         ? "link"
            : entry.work.isFolder ? "folder"
                                  : "file",
        {"folder", "file", "link"});
    out.field("bytes", entry.work.bytes, "0 for a link, which is not looked into");
    out.field("age_seconds", entry.ageSeconds,
        "since the newest file in it was written; null if it is not known, as for a link");
    out.field("publishing", entry.work.isPublishing,
        "whether the job was moving the files of an export into place");
    out.word("state", entry.state, stateName,
        "in-use: a running job or process uses it. half-published: a part of the output is published and the "
        "same command completes it; never removed. foreign: a link, or of another user; never removed");
}

namespace {

void describeClean(auto& out, const std::string& path, const std::vector<CleanEntry>& entries)
{
    out.answer("clean", "CleanAnswer", "The unfinished work in a folder.");
    out.name("path", path);
    out.field("work", entries);
}

} // namespace

void writeCleanJson(const TextSink& sink, const std::string& path, const std::vector<CleanEntry>& entries)
{
    writeObject(sink, [&](JsonOut& out) { describeClean(out, path, entries); });
}

std::string cleanSchema()
{
    return schemaOf("clean", [](SchemaOut& out) { describeClean(out, {}, {}); });
}

void writeCleanText(
    const TextSink& sink, const TextStyle& style, const std::vector<CleanEntry>& entries, bool removes)
{
    if (entries.empty()) {
        sink("no unfinished work\n");
        return;
    }
    using Align = TextTable::Align;
    TextTable table({{"unfinished work"}, {"size", Align::Right}, {"age", Align::Right}, {"state"}});
    bool anyLeft = false;
    bool anyHalf = false;
    for (const CleanEntry& entry : entries) {
        anyLeft = anyLeft || entry.state == CleanEntry::State::Abandoned;
        const std::string age = workAgeText(entry); // without one, its size is not known either
        table.add({printable(entry.work.path.string()),
            age.empty() ? std::string() : formatBytes(entry.work.bytes), age, stateText(entry.state)});
        anyHalf = anyHalf || entry.state == CleanEntry::State::HalfPublished;
    }
    table.write(sink, style, "");
    if (anyHalf)
        sink("A half-published job was interrupted while its files were moved into place. Run the same "
             "command again to complete it.\n");
    if (anyLeft && !removes)
        sink("Run the interrupted command again to continue abandoned work, or use --remove to remove it.\n");
}

} // namespace shardscope
