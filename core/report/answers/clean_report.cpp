// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/clean_report.h"

#include "core/base/text.h"
#include "core/report/text/printable.h"

namespace shardscope {

namespace {

const char* stateName(CleanEntry::State state)
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
    return state == CleanEntry::State::HalfPublished ? "half published, kept" : stateName(state);
}

std::string ageText(int64_t seconds)
{
    constexpr int64_t kMinute = 60;
    constexpr int64_t kHour = 60 * kMinute;
    constexpr int64_t kDay = 24 * kHour;
    if (seconds >= 2 * kDay)
        return std::to_string(seconds / kDay) + " days";
    if (seconds >= 2 * kHour)
        return std::to_string(seconds / kHour) + " hours";
    return seconds >= 2 * kMinute ? std::to_string(seconds / kMinute) + " min"
                                  : std::to_string(seconds) + " s";
}

} // namespace

void writeCleanJson(const TextSink& sink, const std::string& path, const std::vector<CleanEntry>& entries)
{
    JsonWriter json(sink);
    json.beginObject();
    json.field("schema", "shardscope/clean/1");
    json.nameField("path", path);
    json.arrayField("work");
    for (const CleanEntry& entry : entries) {
        json.beginObject();
        json.nameField("path", entry.work.path.string());
        json.nameField("target", entry.work.target);
        json.field("kind", entry.work.isLink ? "link" : entry.work.isFolder ? "folder" : "file");
        json.field("bytes", entry.work.bytes);
        json.field("age_seconds", static_cast<uint64_t>(entry.ageSeconds));
        json.field("publishing", entry.work.isPublishing);
        json.field("state", stateName(entry.state));
        json.endObject();
    }
    json.endArray();
    json.endObject();
    json.finish();
    sink("\n");
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
        table.add({printable(entry.work.path.string()), formatBytes(entry.work.bytes),
            ageText(entry.ageSeconds), stateText(entry.state)});
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
